/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Event loops: a watched thread returns from a call in which such loops wait, and calls it again; what it did in between.
 *
 * Attached only if programs are watched: every system call of every thread of the machine runs these programs. */
#pragma once

#include "state.h"

enum progress { LOOP_RUNS, LOOP_BLOCKED, LOOP_READY };

/* The call with this number, if loops wait in it; 0: they do not. */
static __always_inline const struct wait_call *wait_call(u32 number)
{
	for (u32 i = 0; i < WAIT_CALLS; i++)
		if (loops.call[i].number == number)
			return (const struct wait_call *)&loops.call[i];
	return 0;
}

/* Its state changes now; the time in the previous state is added to its sum. */
static __always_inline void turns_to(struct loop *l, u32 progress, u64 now)
{
	struct iteration *i = &l->iteration;
	u64 length = now - l->since;
	if (!i->from)
		return;
	if (l->progress == LOOP_BLOCKED) {
		i->blocked += length;
		if (length > i->longest) {
			i->longest = length;
			i->longest_in = l->in;
		}
	} else if (l->progress == LOOP_READY) {
		i->ready += length;
	}
	l->progress = progress;
	l->since = now;
}

/* Samples the program's stack. */
static __always_inline void look_at(void *ctx, struct iteration *i)
{
	long size = bpf_get_stack(ctx, i->frame, sizeof(i->frame), BPF_F_USER_STACK);
	i->frames = size > 0 ? size / sizeof(u64) : 0;
	i->looked = 1;
}

static __always_inline void came_back(struct loop *l, u64 now)
{
	struct iteration *i = &l->iteration;
	turns_to(l, LOOP_RUNS, now);
	i->until = now;
	u64 n = i->frames;
	OPAQUE(n);
	if (n > FRAMES)
		n = FRAMES;
	OPAQUE(n);
	u64 size = __builtin_offsetof(struct iteration, frame) + n * sizeof(u64);
	if (bpf_ringbuf_output(&records, i, size, BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&told.lost, 1);
}

/* Poll and select are waits of the loop only if the thread has no better ones: a thread that waits in epoll polls within an
 * iteration. */
SEC("tp_btf/sys_enter")
int BPF_PROG(call_begins, void *regs, long number)
{
	struct task_struct *p = bpf_get_current_task_btf();
	if (!watched(p))
		return 0;
	const struct wait_call *call = wait_call(number);
	struct thread *s;
	u64 argument = 0;
	if (call) {
		bpf_probe_read_kernel(&argument, sizeof(argument), regs + call->argument);
		if (call->mask && !(argument & call->mask))
			call = 0;
	}
	s = bpf_task_storage_get(&threads, p, 0, call ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
	if (!s || s->stage == OVER)
		return 0;
	struct loop *l = &s->loop;
	l->in = number;
	l->sees_calls = 1;
	if (requests.are_followed)
		l->called = bpf_ktime_get_ns();
	if (!call || call->rank < l->rank)
		return 0;
	if (l->iteration.from && call->rank == l->rank)
		came_back(l, bpf_ktime_get_ns());
	l->iteration.from = 0;
	l->iteration.kind = call->kind;
	l->iteration.on = argument;
	l->rank = call->rank;
	l->waits = 1;
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(call_ends, void *regs, long result)
{
	struct task_struct *p = bpf_get_current_task_btf();
	if (!watched(p))
		return 0;
	struct thread *s = known(p);
	if (!s)
		return 0;
	struct loop *l = &s->loop;
	struct iteration *i = &l->iteration;
	if (i->from && l->progress != LOOP_RUNS)
		turns_to(l, LOOP_RUNS, bpf_ktime_get_ns()); /* its switch to the CPU was not seen */
	if (l->waits) {
		i->from = l->since = bpf_ktime_get_ns();
		i->tid = p->pid;
		i->blocked = i->ready = i->longest = 0;
		i->longest_in = NO_CALL;
		i->frames = i->looked = 0;
		l->progress = LOOP_RUNS;
		l->waits = l->slept = 0;
	} else if (l->slept) {
		if (i->from && !i->looked && bpf_ktime_get_ns() - i->from > loops.above)
			look_at(ctx, i);
		l->slept = 0;
	}
	l->in = NO_CALL;
	return 0;
}

/* The kernel's tick is such a timer: a thread that runs for too long is sampled at the next tick. */
SEC("tp_btf/hrtimer_expire_entry")
int overran(void *ctx)
{
	struct task_struct *p = bpf_get_current_task_btf();
	if (!watched(p))
		return 0;
	struct thread *s = known(p);
	if (!s)
		return 0;
	struct iteration *i = &s->loop.iteration;
	if (i->from && !i->looked && bpf_ktime_get_ns() - i->from > loops.above)
		look_at(ctx, i);
	return 0;
}
