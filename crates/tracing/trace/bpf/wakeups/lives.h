/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Watched threads and processes start, are renamed, and end. */
#pragma once

#include "state.h"

#define NICE_0 120 /* the kernel's priority of a thread that is neither nice nor real-time */
#define GENERATIONS 64 /* of processes that were started before watching began */

static __always_inline void tell(struct task_struct *p, u32 what, u64 now, const char *comm)
{
	struct life l = { .at = now, .slack = p->timer_slack_ns, .tid = p->pid, .process = p->tgid, .what = what };
	l.policy = p->policy;
	l.priority = p->rt_priority;
	l.nice = p->static_prio - NICE_0;
	if (comm)
		bpf_probe_read_kernel_str(l.comm, sizeof(l.comm), comm);
	else
		copy(l.comm, p->comm);
	if (bpf_ringbuf_output(&records, &l, sizeof(l), BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&told.lost, 1);
}

/* Before the child is woken for the first time. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(begins, struct task_struct *parent, struct task_struct *child)
{
	if (!watched(parent) || (parent->tgid != child->tgid && !control.children))
		return 0;
	if (!bpf_task_storage_get(&threads, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE))
		__sync_fetch_and_add(&told.lost, 1);
	tell(child, BORN, bpf_ktime_get_ns(), 0);
	return 0;
}

/* Also at execve(2). */
SEC("tp_btf/task_rename")
int BPF_PROG(is_called, struct task_struct *p, const char *comm)
{
	if (watched(p))
		tell(p, NAMED, bpf_ktime_get_ns(), comm);
	return 0;
}

/* Its last sleep is sent before; what it waits for during its exit does not belong to the program. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(ends, struct task_struct *p)
{
	if (!watched(p))
		return 0;
	u64 now = bpf_ktime_get_ns();
	struct thread *s = known(p);
	if (s) {
		send(s, now, 0);
		s->stage = OVER;
	}
	tell(p, ENDED, now, 0);
	return 0;
}

/* Once, at the start: children that the processes had started before are watched as well. */
SEC("iter/task")
int started_before(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task, *of = p;
	if (!p)
		return 0;
	for (u32 i = 0; i < GENERATIONS && of; i++) {
		if (named(BPF_CORE_READ(of, tgid))) {
			bpf_task_storage_get(&threads, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
			return 0;
		}
		of = BPF_CORE_READ(of, real_parent);
	}
	return 0;
}
