/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Interruptions of a running thread: page faults, stop signals, and the freezer of its cgroup. */
#pragma once

#include "state.h"

SEC("tp_btf/page_fault_user")
int page_fault(void *ctx)
{
	struct task_struct *p = bpf_get_current_task_btf();
	if (!watched(p))
		return 0;
	struct thread *s = known(p);
	if (s && (s->stage == RUNS || s->stage == NEVER_LEFT) && !s->record.fault)
		s->record.fault = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/signal_generate")
int BPF_PROG(signalled, int number, void *info, struct task_struct *p)
{
	/* SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU */
	if (number < 19 || number > 22 || !watched(p))
		return 0;
	struct task_struct *by = bpf_get_current_task_btf();
	told.stopper = by->pid;
	copy(told.comm, by->comm);
	return 0;
}

/* The state in which it leaves its CPU. A thread frozen by cgroup v2, which has no state of its own, gets that of the freezer of
 * cgroup v1. */
static __always_inline u32 left_in(struct task_struct *leaves, u32 state)
{
	if (bpf_core_field_exists(leaves->frozen) && BPF_CORE_READ_BITFIELD(leaves, frozen))
		return state | FROZEN;
	return state;
}
