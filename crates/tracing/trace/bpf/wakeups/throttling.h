/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Whether a thread is kept from its CPU although it is ready: its group has used up its time. */
#pragma once

#include "../throttled.h"
#include "state.h"

/* Whether a thread whose address was kept has no time left: reading through it takes a call each. */
static __always_inline u32 is_set_aside(u64 address)
{
	struct task_struct *p = (void *)address;
	struct task_struct___throttled *alone = (void *)p;
	if (bpf_core_field_exists(alone->throttled))
		return BPF_CORE_READ(alone, throttled);
	return bpf_core_field_exists(struct cfs_rq, throttle_count) && BPF_CORE_READ(p, se.cfs_rq, throttle_count) > 0;
}

/* No event tells when a group has time again: it is looked after what may have given it some. */
static __always_inline void look_after_set_aside(struct cpu *c)
{
	if (!c->set_aside || is_set_aside(c->set_aside))
		return;
	c->set_aside = 0;
	c->freed = bpf_ktime_get_ns();
}

/* Real-time threads are throttled by group where they have groups, otherwise all of a CPU. */
static __always_inline u32 rt_throttled(struct task_struct *p)
{
	if (p->prio >= REAL_TIME || !bpf_core_field_exists(struct rt_rq, rt_throttled))
		return 0;
	if (bpf_core_field_exists(struct sched_rt_entity, rt_rq))
		return p->rt.rt_rq->rt_throttled != 0;
	return bpf_core_field_exists(struct cfs_rq, rq) && p->se.cfs_rq->rq->rt.rt_throttled != 0;
}
