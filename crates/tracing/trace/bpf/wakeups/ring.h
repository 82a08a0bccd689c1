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

/* The current thread has had the CPU up to now. */
static __always_inline void ran(struct cpu *c, u64 now, u32 kind, struct task_struct *p)
{
	push_running(c, &c->resched, c->ring[(c->head - 1) & MASK].until, now, kind, p);
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
		ran(c, now, running(c, p), p);
}

/* The interrupt that woke a watched thread ends. */
static __always_inline void ended(struct cpu *c, u64 now)
{
	if (c->woke)
		c->end[c->over++ & (KEPT - 1)] = now;
	c->woke = 0;
}
