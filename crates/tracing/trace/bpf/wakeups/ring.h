/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Ring of occupants of a CPU: written while a watched thread waits for it. */
#pragma once

#include "throttling.h"

/* Kind of occupant of the current thread. */
static __always_inline u32 running(struct cpu *c, struct task_struct *p)
{
	return c->ahead == RUNS_AHEAD ? SERVER : p->prio < REAL_TIME ? URGENT : THREAD;
}

static __always_inline void push(struct cpu *c, u64 until, u32 kind, u32 id, struct task_struct *p)
{
	struct event *e = &c->ring[c->head++ & MASK];
	e->until = until;
	e->id = id;
	e->kind = kind;
	if (p)
		copy(e->comm, p->comm);
}

/* The occupant of the CPU changes, within an interrupt or softirq. */
static __always_inline void interrupted(struct cpu *c, u64 now)
{
	struct task_struct *p = bpf_get_current_task_btf();
	if (c->handler)
		push(c, now, INTERRUPT, c->handler - 1, 0);
	else if (c->softirq)
		push(c, now, SOFTIRQ, c->softirq - 1, 0);
	else
		push(c, now, running(c, p), p->pid, p);
}

/* The interrupt that woke a watched thread ends. */
static __always_inline void ended(struct cpu *c, u64 now)
{
	if (c->woke)
		c->end[c->over++ & (KEPT - 1)] = now;
	c->woke = 0;
}
