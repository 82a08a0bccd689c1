/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Whether a ready thread is kept from its CPU because its group is throttled. */
#pragma once

#include "../throttled.h"
#include "state.h"

/* Whether a thread with a stored address is throttled: each read through such an address takes a helper call. */
static __always_inline u32 is_set_aside(u64 address)
{
	struct task_struct *p = (void *)address;
	struct task_struct___throttled *alone = (void *)p;
	if (bpf_core_field_exists(alone->throttled))
		return BPF_CORE_READ(alone, throttled);
	return bpf_core_field_exists(struct cfs_rq, throttle_count) && BPF_CORE_READ(p, se.cfs_rq, throttle_count) > 0;
}

/* There is no event when a group is unthrottled: it is checked after events that may have caused it. */
static __always_inline void look_after_set_aside(struct cpu *c)
{
	if (!c->set_aside || is_set_aside(c->set_aside))
		return;
	c->set_aside = 0;
	c->freed = bpf_ktime_get_ns();
}

/* With real-time group scheduling, real-time threads are throttled by group, otherwise all of a CPU. */
static __always_inline u32 rt_throttled(struct task_struct *p)
{
	if (p->prio >= REAL_TIME || !bpf_core_field_exists(struct rt_rq, rt_throttled))
		return 0;
	if (bpf_core_field_exists(struct sched_rt_entity, rt_rq))
		return p->rt.rt_rq->rt_throttled != 0;
	return bpf_core_field_exists(struct cfs_rq, rq) && p->se.cfs_rq->rq->rt.rt_throttled != 0;
}
