/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A watched thread gets its CPU, loses it, or goes to sleep. */
#pragma once

#include "loops.h"
#include "ring.h"
#include "sleeps.h"
#include "stops.h"
#include "throttling.h"

/* Occupants of the CPU that the thread had lost from `since` until now, in the loss of that number, from 1. */
VERIFIED_ONCE int lost_to(struct cpu *c, struct thread *s, u32 number, u64 since, u64 now)
{
	if (!c || !s)
		return 0;
	struct walk w = { c, &s->record, now, since, c->head, number * LOST_TO, 0 };
	if (since < now)
		bpf_loop(RING - 2, step, &w, 0);
	return 0;
}

/* The same of another CPU, whose current thread is the one after the last event of the ring. */
VERIFIED_ONCE int lost_there(struct cpu *c, struct thread *s, u32 number, u64 now)
{
	if (!c || !s)
		return 0;
	struct event rest = { .id = c->current, .kind = c->ahead == RUNS_AHEAD ? SERVER : THREAD };
	struct walk w = { c, &s->record, 0, s->lost_here, c->head, number * LOST_TO, 0 };
	if (w.base < now)
		had(&w, now, &rest);
	return 0;
}

/* It gets a CPU again. The rest of a wait after the group was unthrottled is a wait for the CPU. */
static __always_inline void goes_on(struct cpu *c, struct thread *s, u32 last, u64 now)
{
	struct record *r = &s->record;
	struct loss *lost = &r->loss[last & (LOSSES - 1)], *then = &r->loss[(last + 1) & (LOSSES - 1)];
	lost->until = now;
	if (lost->kept_off == BY_OTHERS) {
		lost_to(c, s, last + 1, s->lost_here, now);
		return;
	}
	if (lost->kept_off == BY_BUDGET || c->freed <= lost->from || c->freed >= now || last + 1 >= LOSSES)
		return;
	lost->until = then->from = c->freed;
	then->until = now;
	then->kept_off = BY_OTHERS;
	r->losses++;
	lost_to(c, s, last + 2, c->freed, now);
}

/* It gets a CPU, which it has already as far as was seen: it had lost it when it had had it for as long as its account says. Who
 * had it since is not known. */
static __always_inline void had_lost_unseen(struct thread *s, struct task_struct *p, u64 now)
{
	struct record *r = &s->record;
	u64 from = s->got + account_of(p) - s->account;
	u32 n = r->losses;
	if (!s->got || from >= now)
		return;
	r->losses++;
	if (n >= LOSSES)
		return;
	r->loss[n].from = from;
	r->loss[n].until = now;
	r->loss[n].kept_off = BY_OTHERS;
}

/* It leaves a CPU, which it had not got as far as was seen: it had it for as long as its account says. */
static __always_inline void had_got_unseen(struct cpu *c, struct thread *s, struct task_struct *p, u64 now)
{
	u32 last = s->record.losses - 1;
	if (s->lost == 2) {
		stops_waiting(s);
		if (last < LOSSES)
			goes_on(c, s, last, now + s->account - account_of(p));
	}
	s->lost = 0;
}

static __always_inline void switched_in(struct cpu *c, struct thread *s, struct task_struct *p, u64 now)
{
	struct record *r = &s->record;
	if (s->stage == WOKEN) {
		stops_waiting(s);
		r->switched_in = now;
		r->cpu = bpf_get_smp_processor_id();
		r->called = c->called > r->waking ? c->called : 0;
		interrupt_over(c, s, r->cpu);
		s->head = c->head;
		s->stage = RUNS;
	} else if (s->lost) {
		u32 last = r->losses - 1;
		if (s->lost == 2) {
			stops_waiting(s);
			if (last < LOSSES)
				goes_on(c, s, last, now);
		}
		s->lost = 0;
	} else if (s->stage == RUNS || s->stage == NEVER_LEFT) {
		had_lost_unseen(s, p, now);
	}
	if (is_scheduled_by_bpf(p))
		r->flags |= BPF_SCHEDULED;
	s->got = now;
	s->account = account_of(p);
}

/* Whether it precedes threads of real-time priority and the kernel's fair server: the stopper of a CPU, which is called
 * migration/N, and threads of SCHED_DEADLINE. */
static __always_inline u32 outranks_real_time(struct task_struct *p)
{
	static const char stopper[8] = "migratio";
	return p->prio < 0 || (p->prio == 0 && *(u64 *)p->comm == *(const u64 *)stopper);
}

/* Whether it has used up its own runtime: a ready thread of SCHED_DEADLINE is kept from its CPU only by other ones and by the
 * stopper. Source: pick_next_task() in kernel/sched/core.c asks the classes in that order. */
static __always_inline u32 has_no_budget(struct task_struct *prev, struct task_struct *next)
{
	return prev->policy == DEADLINE && !outranks_real_time(next);
}

static __always_inline void lost_cpu(struct cpu *c, struct thread *s, struct task_struct *p, struct task_struct *next, u64 now)
{
	struct record *r = &s->record;
	u32 n = r->losses++;
	s->lost = 1;
	s->account = account_of(p);
	if (n >= LOSSES)
		return;
	r->loss[n].from = now;
	r->loss[n].until = 0;
	r->loss[n].kept_off = has_no_budget(p, next) ? BY_BUDGET : throttled(p) ? BY_QUOTA : BY_OTHERS;
	if (r->loss[n].kept_off == BY_QUOTA) {
		c->set_aside = (u64)p;
		c->freed = 0;
	}
	s->lost = 2;
	s->lost_here = now;
	s->cpu = bpf_get_smp_processor_id();
	__sync_fetch_and_add(&c->waiting, 1);
}

/* Steal time of this CPU since the thread last went to sleep on it. The switch has just updated the clock of the run queue, which
 * excludes it. */
static __always_inline void stolen(struct thread *s, struct task_struct *p)
{
	u32 cpu = bpf_get_smp_processor_id();
	if (!bpf_core_field_exists(struct rq, prev_steal_time_rq) || !bpf_core_field_exists(struct cfs_rq, rq))
		return;
	u64 total = p->se.cfs_rq->rq->prev_steal_time_rq;
	s->record.stolen = s->slept_on == cpu + 1 ? total - s->stolen : 0;
	s->stolen = total;
	s->slept_on = cpu + 1;
}

/* Whether a real-time thread is ready on the CPU of a thread: one that goes to sleep, or a stopper, can have run last. */
static __always_inline u32 keeps_real_time_off(struct task_struct *p)
{
	if (!bpf_core_field_exists(struct cfs_rq, rq) || !bpf_core_field_exists(struct rt_rq, rt_nr_running))
		return 0;
	return p->se.cfs_rq->rq->rt.rt_nr_running != 0;
}

/* Whether an ordinary thread gets the CPU although a real-time thread is ready, or follows one that did: the kernel's fair server
 * or throttling prefers it. A deadline thread that has used up its runtime is no such thread. */
static __always_inline u32 runs_ahead(struct cpu *c, struct task_struct *prev, struct task_struct *next, u32 ready)
{
	if (outranks_real_time(next))
		return c->ahead ? SET_ASIDE : 0;
	if (!next->pid || next->prio < REAL_TIME)
		return 0;
	if (c->ahead || (ready && prev->prio >= 0 && prev->prio < REAL_TIME))
		return RUNS_AHEAD;
	return keeps_real_time_off(next) ? RUNS_AHEAD : 0;
}

#define LONGEST_WAKE_UP 100000 /* ns, before its thread is ready */

/* Woken so shortly before, on another CPU, it may be ready already. Source: try_to_wake_up() in kernel/sched/core.c, which waits until
 * the thread has left its CPU; its event comes before. A timer's thread is woken on its own CPU as a rule. */
static __always_inline u32 may_be_ready(struct thread *s, u64 now, u32 state)
{
	struct record *r = &s->record;
	return s->stage == NEVER_LEFT && s->woken_on != bpf_get_smp_processor_id() && !(r->flags & BY_TIMER) && !(state & (4 | 8)) &&
	       now - r->waking < LONGEST_WAKE_UP;
}

/* If it is, its wait begins now. */
static __always_inline void leaves(struct cpu *c, struct thread *s, u64 now)
{
	struct record *r = &s->record;
	r->waking = r->runnable = now;
	r->flags &= ~MIGRATED;
	begins_anew(s);
	s->stage = LEAVES;
	s->cpu = bpf_get_smp_processor_id();
	__sync_fetch_and_add(&c->waiting, 1);
}

/* It was ready since it left. */
static __always_inline void was_ready(struct thread *s)
{
	s->stage = WOKEN;
	s->in_interrupt = 0;
	if (s->loop.progress == LOOP_BLOCKED)
		s->loop.progress = LOOP_READY;
}

/* Whether the programs for its wake-up and for its switch ran at the same time, on two CPUs: it gets a CPU, and was not woken after it
 * had left, but since it last got one. */
static __always_inline u32 was_woken_at_once(struct thread *s)
{
	struct record *r = &s->record;
	u32 is_near = r->waking < s->left + LONGEST_WAKE_UP && s->left < r->waking + LONGEST_WAKE_UP;
	if (s->stage == NEVER_LEFT)
		return is_near && !s->lost;
	return is_near && s->stage == ASLEEP && r->since && !r->switched_in && !(r->flags & BY_TIMER);
}

/* It runs, and its wake-up was not seen. */
static __always_inline void was_not_seen(struct thread *s)
{
	if (!s->unseen)
		__sync_fetch_and_add(&told.missed, 1);
	s->unseen = 1;
}

/* Then it was not noted who had the CPU meanwhile: that is `prev` if there was no other switch. */
static __always_inline void was_ready_unnoted(struct cpu *c, struct thread *s, struct task_struct *prev, u64 now)
{
	struct record *r = &s->record;
	r->waking = r->runnable = s->left > r->waking ? s->left : r->waking;
	if (s->stage == NEVER_LEFT)
		r->since = r->waking;
	s->pulled = now;
	u32 is_next = s->left_on == bpf_get_smp_processor_id() && s->switches + 1 == c->switches;
	if (is_next && prev->pid && now > r->runnable) {
		r->occupants = 1;
		r->occupant[0].ns = now - r->runnable;
		r->occupant[0].id = prev->pid;
		r->occupant[0].kind = prev->prio < REAL_TIME ? URGENT : THREAD;
		copy(r->occupant[0].comm, prev->comm);
	} else {
		r->older = now - r->runnable;
	}
	s->cpu = bpf_get_smp_processor_id();
	__sync_fetch_and_add(&c->waiting, 1);
	was_ready(s);
}

SEC("fexit/resched_curr")
int BPF_PROG(firm_request, struct rq *rq)
{
	struct cpu *c;
	if (has_resched() && (c = on(rq->cpu)))
		resched_firm(&c->resched, rq);
	return 0;
}

SEC("fexit/resched_curr_lazy")
int BPF_PROG(lazy_request, struct rq *rq)
{
	struct cpu *c;
	if (has_resched() && (c = on(rq->cpu)))
		resched_lazy(&c->resched, rq);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switches, _Bool preempt, struct task_struct *prev, struct task_struct *next, u32 state)
{
	struct cpu *c = here();
	if (!c)
		return 0;
	u64 now = 0;
	u32 seen = c->current == prev->pid;
	c->current = next->pid;
	c->switches++;
	c->softirq = c->timer = 0; /* on PREEMPT_RT a softirq can lose its CPU */
	look_after_set_aside(c);
	if (c->waiting) {
		now = bpf_ktime_get_ns();
		if (seen) {
			ran(c, now, running(c, prev), prev);
		} else {
			push(c, now, UNSEEN, 0, 0);
			told.unseen++;
		}
	}
	c->resched = (struct resched){};
	c->ahead = runs_ahead(c, prev, next, preempt || !state);
	if (!next->pid)
		c->idle_since = now ?: (now = bpf_ktime_get_ns());
	if (watched(next)) {
		struct thread *s = known(next);
		if (s && s->stage == LEAVES)
			was_ready(s);
		else if (s && was_woken_at_once(s))
			was_ready_unnoted(c, s, prev, now ?: (now = bpf_ktime_get_ns()));
		else if (s && s->stage == ASLEEP && s->record.since)
			was_not_seen(s);
		if (s && s->stage != ASLEEP)
			switched_in(c, s, next, now ?: (now = bpf_ktime_get_ns()));
		if (s && s->loop.iteration.from)
			turns_to(&s->loop, LOOP_RUNS, now ?: (now = bpf_ktime_get_ns()));
	}
	if (watched(prev)) {
		struct thread *s = known(prev);
		if (!s || s->stage == OVER)
			return 0;
		now = now ?: bpf_ktime_get_ns();
		if (s->lost)
			had_got_unseen(c, s, prev, now);
		if (s->loop.iteration.from)
			turns_to(&s->loop, preempt || !state ? LOOP_READY : LOOP_BLOCKED, now);
		s->loop.slept |= !preempt && state;
		if (preempt || !state) {
			if (s->stage != ASLEEP)
				lost_cpu(c, s, prev, next, now);
			return 0;
		}
		u32 is_ready = may_be_ready(s, now, state);
		if (s->stage == ASLEEP && s->record.since && s->got < s->left)
			was_not_seen(s); /* nor was its switch to the CPU */
		s->left = now;
		s->left_on = bpf_get_smp_processor_id();
		s->switches = c->switches;
		s->unseen = 0;
		if (s->stage == WOKEN || s->stage == LEAVES)
			stops_waiting(s); /* woken before it left, or its switch to the CPU was not seen */
		stolen(s, prev);
		send(s, now, left_in(prev, state));
		if (is_ready && s->stage == ASLEEP) {
			leaves(c, s, now);
			return 0;
		}
		/* For the sleep that begins, like the state: the previous one has been sent. */
		if (state & (4 | 8)) {
			s->record.stopper = told.stopper;
			copy(s->record.stopper_comm, told.comm);
		} else {
			s->record.stopper = 0;
		}
	}
	return 0;
}
