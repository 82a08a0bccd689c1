/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Whether a thread has used up the time that its cgroup, or itself, is allowed. */
#pragma once

#include "program.h"

#define REAL_TIME 100 /* kernel priorities below are real-time */
#define DEADLINE 6 /* SCHED_DEADLINE, sched(7) */

/* Whether `p` waits for the quota of its group. Where threads are dequeued by themselves, a thread of a throttled group still runs
 * in the kernel, until it is about to leave it. */
static __always_inline u32 throttled(struct task_struct *p)
{
	struct task_struct___throttled *alone = (void *)p;
	if (p->prio < REAL_TIME)
		return 0;
	if (bpf_core_field_exists(alone->throttled))
		return alone->throttled;
	return bpf_core_field_exists(struct cfs_rq, throttle_count) && p->se.cfs_rq->throttle_count > 0;
}

/* Whether `p`, which gets a CPU, is to be dequeued by itself before it returns to user space: its group has no time left. */
static __always_inline u32 is_to_be_throttled(struct task_struct *p)
{
	struct task_struct___throttled *alone = (void *)p;
	return bpf_core_field_exists(alone->throttled) && bpf_core_field_exists(struct cfs_rq, throttle_count) &&
	       p->prio >= REAL_TIME && p->se.cfs_rq->throttle_count > 0;
}

/* Whether `p`, which sleeps or is being woken, has used up its own runtime, and gets none before its next period. */
static __always_inline u32 is_out_of_runtime(struct task_struct *p)
{
	if (p->policy != DEADLINE || !bpf_core_field_exists(p->dl) ||
	    !bpf_core_field_exists(struct sched_dl_entity, dl_throttled))
		return 0;
	struct sched_dl_entity *own = &p->dl;
	return BPF_CORE_READ_BITFIELD(own, dl_throttled);
}
