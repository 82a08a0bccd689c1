/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Whether a thread's control group has used up its time. */
#pragma once

#include "program.h"

#define REAL_TIME 100 /* kernel priorities below are real-time */

/* Whether `p` waits for its group to have time again. Where threads are set aside by themselves, one whose group has none
 * left still runs in the kernel, until it is about to leave it. */
static __always_inline u32 throttled(struct task_struct *p)
{
	struct task_struct___throttled *alone = (void *)p;
	if (p->prio < REAL_TIME)
		return 0;
	if (bpf_core_field_exists(alone->throttled))
		return alone->throttled;
	return bpf_core_field_exists(struct cfs_rq, throttle_count) && p->se.cfs_rq->throttle_count > 0;
}
