/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* When the current thread of a CPU was asked to leave it.
 *
 * Since Linux 6.13 the scheduler may ask lazily: the thread goes on until it returns to user space, or until the next tick asks it at
 * once. A lazy request to another CPU sends no interrupt. Source: resched_curr_lazy() and sched_tick() in kernel/sched/core.c.
 *
 * Not by the tracepoint sched_set_need_resched_tp: set_tsk_need_resched() calls it before it sets the flag, and the end of a BPF
 * program's RCU section calls set_tsk_need_resched(). Linux 7.3 recurses until its stack is full. */
#pragma once

struct asked {
	u64 lazily, at_once;
};

/* The flags that every thread has that was asked at once, the flag of that request among them, whose number depends on kernel and
 * processor. A lazy request does not set it, except of an idle CPU, and with another preemption model than lazy. */
struct {
	u64 at_once;
} request_flags SEC(".data.request_flags") = { ~0ull };

/* Both functions come with lazy preemption, and these fields are older; where one is missing, waits are not divided. */
static __always_inline int sees_requests(void)
{
	return bpf_core_field_exists(struct rq, cpu) && bpf_core_field_exists(struct rq, curr) &&
	       bpf_core_field_exists(struct task_struct, thread_info.flags);
}

static __always_inline u64 flags_of_current(struct rq *rq)
{
	struct task_struct *p = rq->curr;
	return p->thread_info.flags;
}

static __always_inline void was_asked_at_once(struct asked *a, struct rq *rq)
{
	u64 flags = flags_of_current(rq), all = request_flags.at_once;
	if (all & ~flags)
		request_flags.at_once = all & flags;
	if (!a->at_once)
		a->at_once = bpf_ktime_get_ns();
}

static __always_inline void was_asked_lazily(struct asked *a, struct rq *rq)
{
	u64 all = request_flags.at_once;
	if (!a->lazily && !a->at_once && all != ~0ull && (flags_of_current(rq) & all) != all)
		a->lazily = bpf_ktime_get_ns();
}
