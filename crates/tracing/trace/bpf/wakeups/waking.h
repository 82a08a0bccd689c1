/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A watched thread is woken: its waker, its timer, and its CPU. */
#pragma once

#include "loops.h"
#include "sleeps.h"
#include "switches.h"
#include "throttling.h"

static __always_inline void woken_by_timer(struct thread *s, struct cpu *c)
{
	struct record *r = &s->record;
	r->soft = c->soft;
	r->hard = c->hard;
	r->first_served = c->first_served;
	r->served = c->served;
	r->interrupt = c->in_tick ? c->interrupt : c->handler ? c->handler_began : 0;
	r->flags = BY_TIMER;
	if (r->interrupt && c->rearmed < r->interrupt)
		r->rearmed = c->rearmed;
	if (r->interrupt || !c->serving.at)
		return;
	r->deferred = c->serving.at;
	s->served_head = c->head;
}

/* The waker; for a timer, the thread that its interrupt interrupted. */
static __always_inline void woken_by(struct record *r, struct cpu *c)
{
	struct task_struct *by = bpf_get_current_task_btf();
	if (r->deferred) {
		r->by = c->serving.pid;
		r->idle_since = c->serving.idle_since;
		copy(r->by_comm, c->serving.comm);
		return;
	}
	copy(r->by_comm, by->comm);
	r->idle_since = by->pid ? 0 : c->idle_since;
	/* On some machines the timer interrupt has a handler: it did not interrupt itself. */
	if (c->handler && (!c->timer || c->in_tick)) {
		r->flags |= BY_INTERRUPT;
		r->by = c->handler - 1;
	} else if (c->softirq) {
		r->flags |= BY_SOFTIRQ;
		r->by = c->softirq - 1;
	} else {
		r->by = by->pid;
	}
}

/* It waits for a CPU from now on; in an interrupt, first for the end of that. */
static __always_inline void wakes(struct cpu *c, struct thread *s, struct task_struct *p)
{
	s->cpu = p->thread_info.cpu;
	struct cpu *target = on(s->cpu);
	if (target)
		waits_for(target);
	s->woken_on = bpf_get_smp_processor_id();
	s->in_interrupt = c->in_tick || c->handler;
	c->woke = s->in_interrupt ? 1 + c->timer : 0;
	if (!s->in_interrupt)
		return;
	s->interrupt = c->over;
	s->wake = ++c->wakes;
	c->next_timer[s->wake & (KEPT - 1)] = 0;
}

/* It left its CPU to sleep, and slept until now. */
static __always_inline void had_slept(struct thread *s)
{
	stops_waiting(s);
	s->stage = ASLEEP;
}

/* It is woken on a CPU from now on. */
static __always_inline void waits_from(struct cpu *c, struct thread *s, struct task_struct *p, u64 now)
{
	struct record *r = &s->record;
	r->flags = 0;
	r->deferred = r->rearmed = 0;
	if (c->timer)
		woken_by_timer(s, c);
	woken_by(r, c);
	if (throttled(p))
		r->flags |= THROTTLED;
	if (p->prio < REAL_TIME)
		r->flags |= REAL_TIME_THREAD;
	if (rt_throttled(p))
		r->flags |= RT_THROTTLED;
	if (is_out_of_runtime(p))
		r->flags |= OUT_OF_RUNTIME;
	r->tid = p->pid;
	r->waking = r->runnable = now;
	begins_anew(s);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(waking, struct task_struct *p)
{
	if (!watched(p))
		return 0;
	struct cpu *c = here();
	struct thread *s = bpf_task_storage_get(&threads, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!c || !s || s->stage == WOKEN || s->stage == OVER)
		return 0;
	if (s->stage == LEAVES)
		had_slept(s);
	/* A timer wakes its thread as soon as it is served; besides dispatch, reading the clock is most of the cost. */
	u64 now = c->timer ? c->served : bpf_ktime_get_ns();
	if (s->loop.progress == LOOP_BLOCKED)
		turns_to(&s->loop, LOOP_READY, now);
	u32 off = s->lost, left = s->stage == ASLEEP || off;
	if (off == 2)
		stops_waiting(s);
	if (s->stage != ASLEEP)
		send(s, now, 1); /* it was about to sleep; it has its CPU still, or lost it on the way */
	/* Before its record is written: an atomic add waits for all earlier writes. */
	if (left) {
		wakes(c, s, p);
	} else {
		s->woken_on = bpf_get_smp_processor_id();
	}
	s->stage = left ? WOKEN : NEVER_LEFT;
	waits_from(c, s, p, now);
	return 0;
}

/* Since Linux 7.1 a timer whose time has passed is not armed any more: the thread neither sleeps nor is woken. That is recorded
 * as a sleep of length 0. */
SEC("tp_btf/hrtimer_start_expired")
int BPF_PROG(has_passed, struct hrtimer *timer)
{
	struct task_struct *p = bpf_get_current_task_btf();
	if (!watched(p))
		return 0;
	struct thread *s = bpf_task_storage_get(&threads, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!s || s->stage == WOKEN || s->stage == OVER)
		return 0;
	struct record *r = &s->record;
	u64 now = bpf_ktime_get_ns();
	s64 ahead = timer->base->offset;
	send(s, now, 1);
	s->stage = NEVER_LEFT;
	s->woken_on = bpf_get_smp_processor_id();
	r->flags = BY_TIMER;
	r->soft = timer->_softexpires - ahead;
	r->hard = timer->node.expires - ahead;
	r->first_served = r->served = r->waking = r->runnable = now;
	r->tid = r->by = p->pid;
	copy(r->by_comm, p->comm);
	r->interrupt = r->deferred = r->idle_since = r->rearmed = 0;
	begins_anew(s);
	return 0;
}

/* A preempted thread waits for another CPU from now on: that is a loss of its own, with the occupants of that CPU. Without room for
 * it, those of the first CPU are not known. */
static __always_inline int lost_elsewhere(struct thread *s, u32 to)
{
	struct cpu *target = on(to);
	struct record *r = &s->record;
	u32 last = r->losses - 1;
	u64 now = bpf_ktime_get_ns();
	if (last + 1 < LOSSES && r->loss[last & (LOSSES - 1)].kept_off == BY_OTHERS) {
		struct loss *before = &r->loss[last & (LOSSES - 1)], *then = &r->loss[(last + 1) & (LOSSES - 1)];
		lost_there(on(s->cpu), s, last + 1, now);
		before->until = then->from = now;
		then->until = 0;
		then->kept_off = BY_OTHERS;
		r->losses++;
	}
	stops_waiting(s);
	s->cpu = to;
	s->lost_here = now;
	if (target)
		__sync_fetch_and_add(&target->waiting, 1);
	return 0;
}

/* Also for a wake-up on another CPU. */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(migrates, struct task_struct *p, int to)
{
	if (!watched(p))
		return 0;
	struct thread *s = known(p);
	struct cpu *from, *target;
	if (!s || s->cpu == to)
		return 0;
	if (s->lost == 2)
		return lost_elsewhere(s, to);
	if (s->stage != WOKEN && s->stage != LEAVES)
		return 0;
	if ((from = on(s->cpu)) && from->waiting)
		__sync_fetch_and_sub(&from->waiting, 1);
	u64 now = bpf_ktime_get_ns();
	if (p->on_rq) {
		waited_for(from, s, now);
		s->pulled = now;
	} else {
		/* The wake-up itself chooses the CPU. */
		s->record.runnable = now;
		s->record.flags |= MIGRATED;
	}
	s->cpu = to;
	if ((target = on(to)))
		waits_for(target);
	return 0;
}
