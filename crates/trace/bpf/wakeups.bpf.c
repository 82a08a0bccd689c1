// SPDX-License-Identifier: MIT OR Apache-2.0
/* Follows wake-ups of the watched processes from the timer's interrupt to the switch.
 *
 * What is on the way only stamps: dispatching a program is most of its cost, and a watched thread's sleep is summed up
 * and sent when it goes to sleep again. Per CPU there is a ring of "until then the CPU was this one's", written only
 * while a watched thread waits for that CPU. */
#include <linux/types.h>
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "kernel.h"
#include "record.h"

typedef __u64 u64;
typedef __u32 u32;
typedef __s64 s64;

#define WATCHED 4
#define RING 1024
#define MASK (RING - 1)
#define REAL_TIME 100 /* kernel priorities below are real-time */
#define HRTIMER 8 /* the softirq that serves timers */
#define NICE_0 120 /* the kernel's priority of a thread that is neither nice nor real-time */
#define GENERATIONS 64 /* of processes that were started before watching began */

/* Which processes, and whether what they start is watched as well; user space writes it at any time. No process has the id
 * ~0. */
struct {
	u32 tgid[WATCHED];
	u32 children;
} control SEC(".data.control") = { { ~0u, ~0u, ~0u, ~0u }, 0 };

/* What user space reads besides the records. */
struct {
	u64 lost; /* records that did not fit */
	u32 stopper;
	u32 unseen; /* switches that no event told of */
	char comm[16];
} told SEC(".data.told") = {};

struct event {
	u64 until;
	u32 id, kind;
	char comm[16];
};

/* An interrupt that left its timers to a softirq: when, and whom it came upon. */
struct deferral {
	u64 at, idle_since;
	u32 pid, pad;
	char comm[16];
};

struct cpu {
	u32 waiting, current;
	u64 interrupt, first_served, served, soft, hard;
	u32 in_tick, timer;
	u64 end, head, handler_began, idle_since;
	u32 handler, softirq, woke, pad;
	u64 called; /* an idle CPU, by another one, the first time since a watched thread was woken for it */
	u64 set_aside, freed; /* a watched thread whose group has no time left; when it had again */
	struct deferral deferred, serving; /* not served yet; being served */
	struct event ring[RING];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpu);
} cpus SEC(".maps");

enum stage { ASLEEP, WOKEN, RUNS, NEVER_LEFT, OVER };

struct thread {
	u64 head; /* of the CPU's ring at the switch */
	u64 pulled; /* when another CPU took it from the one that it waited for; 0: none did */
	u64 lost_here; /* since when it is without this CPU */
	u64 served_head; /* of the ring of the CPU that served its timer in a softirq, then */
	u32 stage, cpu;
	u32 lost; /* runs, but has no CPU now: 1, or 2 while who has it is taken down */
	u32 served_on;
	struct record record;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, struct thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
} records SEC(".maps");

static __always_inline struct cpu *on(u32 cpu)
{
	return bpf_map_lookup_elem(&cpus, &cpu);
}

static __always_inline struct cpu *here(void)
{
	return on(bpf_get_smp_processor_id());
}

static __always_inline int named(u32 tgid)
{
	return tgid == control.tgid[0] || tgid == control.tgid[1] || tgid == control.tgid[2] || tgid == control.tgid[3];
}

static __always_inline struct thread *known(struct task_struct *p)
{
	return bpf_task_storage_get(&threads, p, 0, 0);
}

/* A child of a watched process is known from its first moment; who asks for no children does not pay for looking. */
static __always_inline int watched(struct task_struct *p)
{
	return named(p->tgid) || (control.children && known(p));
}

/* A name, by words: the compiler would go byte by byte where it does not know how the kernel aligns it. */
static __always_inline void copy(char *to, const char *from)
{
	((u64 *)to)[0] = ((const u64 *)from)[0];
	((u64 *)to)[1] = ((const u64 *)from)[1];
}

static __always_inline void push(struct cpu *c, u64 until, u32 kind, u32 id, struct task_struct *p)
{
	struct event *e = &c->ring[c->head++ & MASK];
	e->until = until;
	e->id = id;
	e->kind = kind;
	if (p)
		copy(e->comm, p->comm);
}

/* Somebody else gets the CPU now, within an interrupt or softirq. */
static __always_inline void interrupted(struct cpu *c, u64 now)
{
	struct task_struct *p = bpf_get_current_task_btf();
	if (c->handler)
		push(c, now, INTERRUPT, c->handler - 1, 0);
	else if (c->softirq)
		push(c, now, SOFTIRQ, c->softirq - 1, 0);
	else
		push(c, now, THREAD, p->pid, p);
}

/* The interrupt that woke a watched thread ends. */
static __always_inline void ended(struct cpu *c, u64 now)
{
	if (c->woke)
		c->end = now;
	c->woke = 0;
}

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

/* The same of one whose address was kept: reading through it takes a call each. */
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

SEC("tp_btf/local_timer_entry")
int tick_begins(void *ctx)
{
	struct cpu *c = here();
	if (!c)
		return 0;
	c->interrupt = bpf_ktime_get_ns();
	c->served = c->timer = 0;
	c->in_tick = 1;
	if (c->waiting)
		interrupted(c, c->interrupt);
	return 0;
}

SEC("tp_btf/local_timer_exit")
int tick_ends(void *ctx)
{
	struct cpu *c = here();
	if (!c)
		return 0;
	if (c->waiting || c->woke) {
		u64 now = bpf_ktime_get_ns();
		ended(c, now);
		push(c, now, TICK, 0, 0);
	}
	look_after_set_aside(c);
	c->timer = c->in_tick = 0;
	return 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(timer_served, struct hrtimer *timer)
{
	struct cpu *c = here();
	if (!c)
		return 0;
	u64 now = bpf_ktime_get_ns();
	s64 ahead = timer->base->offset; /* of CLOCK_MONOTONIC, where the timer is on another clock */
	if (!c->served)
		c->first_served = now;
	c->served = now;
	c->soft = timer->_softexpires - ahead;
	c->hard = timer->node.expires - ahead;
	c->timer = 1;
	return 0;
}

static __always_inline int called(void)
{
	struct cpu *c = here();
	struct task_struct *p = bpf_get_current_task_btf();
	if (c && c->waiting && !c->called && !p->pid)
		c->called = bpf_ktime_get_ns();
	return 0;
}

/* How a CPU tells another one that it has woken a thread for it; which of the two depends on the kernel. Attached only for
 * threads that others notify. */
SEC("tp_btf/call_function_single_entry")
int called_to_work(void *ctx)
{
	return called();
}

SEC("tp_btf/reschedule_entry")
int called_to_switch(void *ctx)
{
	return called();
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(handler_begins, int irq)
{
	struct cpu *c = here();
	if (!c)
		return 0;
	u64 now = bpf_ktime_get_ns();
	if (c->waiting)
		interrupted(c, now);
	c->handler = irq + 1;
	c->handler_began = now;
	if (!c->in_tick)
		c->served = 0;
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(handler_ends, int irq)
{
	struct cpu *c = here();
	if (!c)
		return 0;
	if (c->waiting || c->woke) {
		u64 now = bpf_ktime_get_ns();
		ended(c, now);
		push(c, now, INTERRUPT, irq, 0);
	}
	c->handler = 0;
	if (!c->in_tick)
		c->timer = 0;
	return 0;
}

SEC("tp_btf/softirq_raise")
int BPF_PROG(deferred, u32 vector)
{
	struct cpu *c;
	if (vector != HRTIMER || !(c = here()) || c->deferred.at)
		return 0;
	struct task_struct *p = bpf_get_current_task_btf();
	c->deferred.at = c->in_tick ? c->interrupt : c->handler ? c->handler_began : bpf_ktime_get_ns();
	c->deferred.idle_since = p->pid ? 0 : c->idle_since;
	c->deferred.pid = p->pid;
	copy(c->deferred.comm, p->comm);
	__sync_fetch_and_add(&c->waiting, 1);
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_begins, u32 vector)
{
	struct cpu *c = here();
	if (!c)
		return 0;
	if (c->waiting)
		interrupted(c, bpf_ktime_get_ns());
	c->softirq = vector + 1;
	c->served = 0;
	if (vector == HRTIMER && c->deferred.at) {
		c->serving = c->deferred;
		c->deferred.at = 0;
	}
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_ends, u32 vector)
{
	struct cpu *c = here();
	if (!c)
		return 0;
	if (c->waiting)
		push(c, bpf_ktime_get_ns(), SOFTIRQ, vector, 0);
	if (vector == HRTIMER && c->serving.at) {
		c->serving.at = 0;
		if (c->waiting)
			__sync_fetch_and_sub(&c->waiting, 1);
	}
	c->softirq = c->timer = 0;
	return 0;
}

struct walk {
	struct cpu *c;
	struct record *r;
	u64 hi, base, head;
	u32 before, pad;
};

/* Whether `e` is of whoever has this place; threads are told apart by name, so that a herd takes one. */
static __always_inline int is_of(struct occupant *o, struct event *e, u32 before)
{
	u64 *name = (u64 *)e->comm, *other = (u64 *)o->comm;
	if (o->kind != (e->kind | before))
		return 0;
	return e->kind ? o->id == e->id : other[0] == name[0] && other[1] == name[1];
}

/* Linux 6.1's verifier knows a bound only of the very register that was compared: `OPAQUE` keeps the compiler from using
 * another. */
#define OPAQUE(n) asm volatile("" : "+r"(n))

VERIFIED_ONCE int credit(struct record *r, struct event *e, u32 before, u64 ns)
{
	if (!r || !e)
		return 0;
	u64 n = r->occupants;
	for (u64 j = 0; j < OCCUPANTS; j++) {
		OPAQUE(j);
		if (j >= n)
			break;
		if (is_of(&r->occupant[j], e, before)) {
			r->occupant[j].ns += ns;
			return 0;
		}
	}
	OPAQUE(n);
	if (n < OCCUPANTS) {
		struct occupant *o = &r->occupant[n];
		o->ns = ns;
		o->id = e->id;
		o->kind = e->kind | before;
		copy(o->comm, e->comm);
		r->occupants = n + 1;
	} else if (!before) {
		r->older += ns;
	}
	return 0;
}

/* From the switch backwards: stretches telescope to exactly the wait. */
static long step(u32 i, struct walk *w)
{
	struct event *e = &w->c->ring[(w->head - 1 - i) & MASK], *b = &w->c->ring[(w->head - 2 - i) & MASK];
	u64 lo, ns;
	if (e->until <= w->base)
		return 1;
	lo = b->until > w->base && b->until < w->hi ? b->until : w->base;
	ns = w->hi - lo;
	w->hi = lo;
	credit(w->r, e, w->before, ns);
	return lo <= w->base;
}

/* Who had `c` from `base` until `now`, of which `rest` had what the ring up to `head` does not know yet; returns what is
 * longer ago than the ring goes. */
static __always_inline u64 had(struct walk *w, u64 now, struct event *rest)
{
	u64 last = w->c->ring[(w->head - 1) & MASK].until;
	w->hi = last < w->base ? w->base : last < now ? last : now;
	credit(w->r, rest, w->before, now - w->hi);
	u64 since = w->c->head - w->head;
	if (w->hi > w->base && since < RING - 2)
		bpf_loop(RING - 2 - since, step, w, 0);
	return w->hi > w->base ? w->hi - w->base : 0;
}

/* Most wait for one thread only, or for none: nothing is to be added up then. */
static __always_inline int waited_for_one(struct cpu *c, u64 head, u64 base, struct record *r)
{
	struct event *e = &c->ring[(head - 1) & MASK], *b = &c->ring[(head - 2) & MASK];
	struct occupant *o = &r->occupant[0];
	if (b->until > base || r->occupants || e->until <= base)
		return 0;
	o->ns = r->switched_in - base;
	o->id = e->id;
	o->kind = e->kind;
	copy(o->comm, e->comm);
	r->occupants = 1;
	return 1;
}

/* Who had the CPU while the thread waited for this one. */
static __always_inline void sum_up(struct thread *s)
{
	struct record *r = &s->record;
	struct cpu *c = on(r->cpu);
	u64 base = s->pulled ?: r->runnable;
	if (!c || !r->switched_in)
		return;
	u64 since = c->head - s->head;
	if (since < RING - 2 && waited_for_one(c, s->head, base, r))
		return;
	struct walk w = { c, r, r->switched_in, base, s->head, 0, 0 };
	if (since < RING - 2)
		bpf_loop(RING - 2 - since, step, &w, 0);
	if (w.hi > base)
		r->older += w.hi - base;
}

/* It waited for `c`, and is pulled away: the same up to now. What the ring does not know yet, the current thread has had. */
VERIFIED_ONCE int waited_for(struct cpu *c, struct thread *s, u64 now)
{
	if (!c || !s)
		return 0;
	struct record *r = &s->record;
	if (!s->pulled && c->end > r->runnable)
		r->runnable = c->end;
	struct event rest = { .id = c->current, .kind = THREAD };
	struct walk w = { c, r, 0, s->pulled ?: r->runnable, c->head, 0, 0 };
	if (w.base < now)
		r->older += had(&w, now, &rest);
	return 0;
}

/* Its timer waited for the softirq: the same until it was served. */
VERIFIED_ONCE int timer_waited(struct thread *s)
{
	if (!s)
		return 0;
	struct record *r = &s->record;
	struct cpu *c = on(s->served_on);
	struct event rest = { .id = HRTIMER, .kind = SOFTIRQ };
	if (!c)
		return 0;
	struct walk w = { c, r, 0, r->deferred > r->soft ? r->deferred : r->soft, s->served_head, BEFORE, 0 };
	if (w.base < r->served)
		had(&w, r->served, &rest);
	return 0;
}

/* The thread goes to sleep: send what its last sleep came to, and begin the next. */
VERIFIED_ONCE int send(struct thread *s, u64 now, u32 state)
{
	if (!s)
		return 0;
	struct record *r = &s->record;
	if (s->stage != ASLEEP) {
		sum_up(s);
		if (r->deferred)
			timer_waited(s);
		r->again = now;
		u64 n = r->occupants;
		OPAQUE(n);
		if (n > OCCUPANTS)
			n = OCCUPANTS;
		OPAQUE(n);
		u64 size = __builtin_offsetof(struct record, occupant) + n * sizeof(struct occupant);
		if (bpf_ringbuf_output(&records, r, size, BPF_RB_NO_WAKEUP))
			__sync_fetch_and_add(&told.lost, 1);
	}
	s->stage = ASLEEP;
	s->lost = 0;
	r->since = now;
	r->since_state = state;
	return 0;
}

static __always_inline void stops_waiting(struct thread *s)
{
	struct cpu *c = on(s->cpu);
	if (c && c->waiting)
		__sync_fetch_and_sub(&c->waiting, 1);
}

static __always_inline void waits_for(struct cpu *c)
{
	c->called = 0;
	__sync_fetch_and_add(&c->waiting, 1);
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

static __always_inline void woken_by_timer(struct thread *s, struct cpu *c)
{
	struct record *r = &s->record;
	r->soft = c->soft;
	r->hard = c->hard;
	r->first_served = c->first_served;
	r->served = c->served;
	r->interrupt = c->in_tick ? c->interrupt : c->handler ? c->handler_began : 0;
	r->flags = BY_TIMER;
	if (r->interrupt || !c->serving.at)
		return;
	r->deferred = c->serving.at;
	s->served_head = c->head;
	s->served_on = bpf_get_smp_processor_id();
}

/* Who wakes it; of a timer, whom its interrupt came upon. */
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
	/* The timer's own interrupt is no one that it interrupted: on some machines it has a handler. */
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

/* What comes after it was woken. */
static __always_inline void begins_anew(struct thread *s)
{
	struct record *r = &s->record;
	r->switched_in = r->fault = r->called = s->pulled = r->older = 0;
	r->losses = r->occupants = 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(waking, struct task_struct *p)
{
	if (!watched(p))
		return 0;
	struct cpu *c = here(), *target;
	struct thread *s = bpf_task_storage_get(&threads, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!c || !s || s->stage == WOKEN || s->stage == OVER)
		return 0;
	struct record *r = &s->record;
	/* A timer wakes whom it is for as soon as it is served; beside dispatch, reading the clock is most of the cost. */
	u64 now = c->timer ? c->served : bpf_ktime_get_ns();
	u32 off = s->lost, left = s->stage == ASLEEP || off;
	if (off == 2)
		stops_waiting(s);
	if (s->stage != ASLEEP)
		send(s, now, 1); /* it was about to sleep; it has its CPU still, or lost it on the way */
	/* Before anything of its record is written: what is counted for all CPUs to see waits for what was written before. */
	if (left) {
		s->cpu = p->thread_info.cpu;
		c->woke = c->in_tick || c->handler;
		if ((target = on(s->cpu)))
			waits_for(target);
	}
	s->stage = left ? WOKEN : NEVER_LEFT;
	r->flags = 0;
	r->deferred = 0;
	if (c->timer)
		woken_by_timer(s, c);
	woken_by(r, c);
	if (throttled(p))
		r->flags |= THROTTLED;
	if (rt_throttled(p))
		r->flags |= RT_THROTTLED;
	r->tid = p->pid;
	r->waking = r->runnable = now;
	begins_anew(s);
	return 0;
}

/* Since Linux 7.1 a program's timer whose time has passed is not set any more: nobody sleeps, and nobody is woken. That is
 * a sleep without length, which ends where it begins. */
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
	r->flags = BY_TIMER;
	r->soft = timer->_softexpires - ahead;
	r->hard = timer->node.expires - ahead;
	r->first_served = r->served = r->waking = r->runnable = now;
	r->tid = r->by = p->pid;
	copy(r->by_comm, p->comm);
	r->interrupt = r->deferred = r->idle_since = 0;
	begins_anew(s);
	return 0;
}

/* A thread without CPU waits for another one from now on: who has that is taken down; who had the first one, nobody knows. */
static __always_inline int lost_elsewhere(struct thread *s, u32 to)
{
	struct cpu *target = on(to);
	stops_waiting(s);
	s->cpu = to;
	s->lost_here = bpf_ktime_get_ns();
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
	if (s->stage != WOKEN)
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

/* Who had the CPU that the thread was without from `since` until now, the loss of that number, from 1. */
VERIFIED_ONCE int lost_to(struct cpu *c, struct thread *s, u32 number, u64 since, u64 now)
{
	if (!c || !s)
		return 0;
	struct walk w = { c, &s->record, now, since, c->head, number * LOST_TO, 0 };
	if (since < now)
		bpf_loop(RING - 2, step, &w, 0);
	return 0;
}

/* It goes on. What is left of a wait after the group had time again is a wait for the CPU. */
static __always_inline void goes_on(struct cpu *c, struct thread *s, u32 last, u64 now)
{
	struct record *r = &s->record;
	struct loss *lost = &r->loss[last & (LOSSES - 1)], *then = &r->loss[(last + 1) & (LOSSES - 1)];
	lost->until = now;
	if (!lost->throttled) {
		lost_to(c, s, last + 1, s->lost_here, now);
		return;
	}
	if (c->freed <= lost->from || c->freed >= now || last + 1 >= LOSSES)
		return;
	lost->until = then->from = c->freed;
	then->until = now;
	then->throttled = 0;
	r->losses++;
	lost_to(c, s, last + 2, c->freed, now);
}

static __always_inline void switched_in(struct cpu *c, struct thread *s, u64 now)
{
	struct record *r = &s->record;
	if (s->stage == WOKEN) {
		stops_waiting(s);
		r->switched_in = now;
		r->cpu = bpf_get_smp_processor_id();
		r->called = c->called > r->waking ? c->called : 0;
		if (!s->pulled && c->end > r->runnable)
			r->runnable = c->end;
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
	}
}

static __always_inline void lost_cpu(struct cpu *c, struct thread *s, struct task_struct *p, u64 now)
{
	struct record *r = &s->record;
	u32 n = r->losses++;
	s->lost = 1;
	if (n >= LOSSES)
		return;
	r->loss[n].from = now;
	r->loss[n].until = 0;
	r->loss[n].throttled = throttled(p);
	if (r->loss[n].throttled) {
		c->set_aside = (u64)p;
		c->freed = 0;
	}
	s->lost = 2;
	s->lost_here = now;
	s->cpu = bpf_get_smp_processor_id();
	__sync_fetch_and_add(&c->waiting, 1);
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
	c->softirq = c->timer = 0; /* on PREEMPT_RT a softirq can lose its CPU */
	look_after_set_aside(c);
	if (c->waiting) {
		now = bpf_ktime_get_ns();
		push(c, now, seen ? THREAD : UNSEEN, seen ? prev->pid : 0, seen ? prev : 0);
		if (!seen)
			told.unseen++;
	}
	if (!next->pid)
		c->idle_since = now ?: (now = bpf_ktime_get_ns());
	if (watched(next)) {
		struct thread *s = known(next);
		if (s && s->stage != ASLEEP)
			switched_in(c, s, now ?: (now = bpf_ktime_get_ns()));
	}
	if (watched(prev)) {
		struct thread *s = known(prev);
		if (!s || s->stage == OVER)
			return 0;
		now = now ?: bpf_ktime_get_ns();
		if (preempt || !state) {
			if (s->stage != ASLEEP)
				lost_cpu(c, s, prev, now);
			return 0;
		}
		if (s->stage == WOKEN)
			stops_waiting(s); /* woken before it left */
		send(s, now, state);
		/* Of the sleep that begins, like the state: the one before has been sent. */
		if (state & (4 | 8)) {
			s->record.stopper = told.stopper;
			copy(s->record.stopper_comm, told.comm);
		} else {
			s->record.stopper = 0;
		}
	}
	return 0;
}

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

/* Also when it executes another program. */
SEC("tp_btf/task_rename")
int BPF_PROG(is_called, struct task_struct *p, const char *comm)
{
	if (watched(p))
		tell(p, NAMED, bpf_ktime_get_ns(), comm);
	return 0;
}

/* Its last sleep is told before; what it waits for while it is taken apart is none of its program's. */
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

/* Once, when watching begins: what the processes started before is watched as well. */
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

char _license[] SEC("license") = "Dual MIT/GPL";
