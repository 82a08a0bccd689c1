/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Requests to the current thread of a CPU to leave it (need_resched), and the stretches of its time before and after a lazy one.
 *
 * Since Linux 6.13 a request may be lazy: the thread goes on until it returns to user space, or until the next tick makes the request
 * firm. A lazy request to another CPU sends no interrupt. Source: resched_curr_lazy() and sched_tick() in kernel/sched/core.c.
 *
 * Not by the tracepoint sched_set_need_resched_tp: set_tsk_need_resched() calls it before it sets the flag, and the end of a BPF
 * program's RCU section calls set_tsk_need_resched(). Linux 7.3 recurses until its stack is full. */
#pragma once

#include "occupant.h"

/* The first of each since the thread got the CPU; 0: none. */
struct resched {
	u64 lazy, firm;
};

/* The flags common to all threads after a firm request, its own flag among them, whose number depends on kernel and processor. A lazy
 * request does not set it, except of an idle CPU, and with another preemption model than lazy. */
struct {
	u64 firm;
} resched_flags SEC(".data.resched_flags") = { ~0ull };

/* Both functions come with lazy preemption, and these fields are older; where one is missing, waits are not divided. */
static __always_inline int has_resched(void)
{
	return bpf_core_field_exists(struct rq, cpu) && bpf_core_field_exists(struct rq, curr) &&
	       bpf_core_field_exists(struct task_struct, thread_info.flags);
}

static __always_inline u64 flags_of_current(struct rq *rq)
{
	struct task_struct *p = rq->curr;
	return p->thread_info.flags;
}

static __always_inline void resched_firm(struct resched *r, struct rq *rq)
{
	u64 flags = flags_of_current(rq), firm = resched_flags.firm;
	if (firm & ~flags)
		resched_flags.firm = firm & flags;
	if (!r->firm)
		r->firm = bpf_ktime_get_ns();
}

static __always_inline void resched_lazy(struct resched *r, struct rq *rq)
{
	u64 firm = resched_flags.firm;
	if (!r->lazy && !r->firm && firm != ~0ull && (flags_of_current(rq) & firm) != firm)
		r->lazy = bpf_ktime_get_ns();
}

struct cpu;
static __always_inline void push(struct cpu *c, u64 until, u32 kind, u32 id, struct task_struct *p);

/* Pushes the time of the current thread from `last` until `then`: from a lazy request to a firm one as another occupant. Flags of its
 * kind belong to the last of them. */
static __always_inline void push_running(struct cpu *c, struct resched *r, u64 last, u64 then, u32 kind, struct task_struct *p)
{
	if ((kind & OCCUPANT_KIND) == THREAD && r->lazy && r->lazy < then) {
		u64 until = r->firm > r->lazy && r->firm < then ? r->firm : then;
		if (r->lazy > last)
			push(c, r->lazy, THREAD, p->pid, p);
		if (until == then)
			kind += LAZY;
		else if (until > last)
			push(c, until, LAZY, p->pid, p);
	}
	push(c, then, kind, p->pid, p);
}
