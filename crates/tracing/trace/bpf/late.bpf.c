// SPDX-License-Identifier: MIT OR Apache-2.0
/* Counts how late every thread of the machine runs, and reports those that are too late: since they were ready, or since their
 * timer was due.
 *
 * One program runs at every switch. The wait of the thread that gets the CPU is in the scheduler's own statistics; the occupants of
 * the CPU are in a ring per CPU, which user space reads when a wait was too long. Nothing is looked up, walked or sent for other
 * waits. */
#include "program.h"
#include "resched.h"
#include "throttled.h"
#include "late.h"

#define NICE_0 120 /* the kernel's priority of a thread that is neither nice nor real-time */
#define RETURNS 100 /* from waiting for events: from then on, a thread counts as an event loop */
#define WAKING 0x200 /* TASK_WAKING of include/linux/sched.h: it is moved as it is woken */
#define ROOM (1 << 20) /* bytes for late waits that user space has not read yet; of them, half for such with their turns */
#define SHORT 4000 /* interrupts and softirqs below count as time of whom they came upon, */
#define BRIEF 50000 /* a thread of a group without time runs for less before it is set aside: in the kernel, on its way out */
#define SLEEPERS 4096 /* that may be woken by a timer and not have run yet; of two that share a place the later one is known */
#define UNPARTED 5000000 /* unless nothing else has parted that for so long: a CPU without interrupts is one that stood still */

/* Set by user space: before loading, the number of chunks of each ring, a power of two; at any time, the thresholds. */
const volatile u32 chunks = 1;
struct {
	u64 above;
	u32 self; /* the process that reads this, whose waits are counted and not told */
	u32 set; /* how often counts were read: of two sets of them, this one is counted into now; the other one is read */
	u64 away; /* for longer than this no event loop is to be away from its events */
} control SEC(".data.control") = { ~0ull, 0, 0, ~0ull };

/* Counters that user space reads. */
struct {
	u64 lost; /* late waits that found no room */
	u64 unseen; /* switches that no event told of */
	u64 uncounted; /* threads whose counts found no room in a group */
} told SEC(".data.told") = {};

struct cpu {
	u64 head; /* events in all */
	u64 hard_began, soft_began;
	u64 last; /* until when the last of them was */
	u64 expires; /* the timer that is being served; 0: none, one of another clock than CLOCK_MONOTONIC, or it is known whom it wakes */
	u64 woken; /* the thread that it is to wake: where the kernel has it */
	u64 first_served, served;
	u64 idle_since;
	u64 ran_from, ran_before; /* since when the current thread has it, and how long it had one before, by its account */
	u32 current;
	u32 hard, soft; /* the interrupt or softirq that it is in, from 1 */
	u32 hard_kind;
	u32 soft_told; /* who had the CPU before the softirq is in the ring */
	u32 held; /* the wait of the current thread is not over */
	struct resched resched; /* of the current thread */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpu);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct chunk);
} ring SEC(".maps");

/* A thread that existed before is followed from its first switch on; what it waits for during its exit does not belong to the
 * program. */
enum stage { NEW, KNOWN, OVER };

/* A possible event loop: a thread that repeatedly waits for events in this file. */
struct loop {
	u64 from; /* when it last returned with some; 0: it waits */
	u64 running, ready; /* how long it had had a CPU then, and waited for one, in all its life */
	u32 file, returns;
	u32 alone; /* nobody else waited there then */
	u32 polls; /* it only asks, and does not wait */
};

struct thread {
	u64 waited; /* by the scheduler's account, until it last got a CPU */
	u64 stage;
	u64 longest[2];
	u64 armed; /* when it last set a timer to a time that had passed */
	u64 losses; /* of its CPU, until it last got one */
	u64 held; /* its account when it last got a CPU without an end of its wait, as its group had no time left */
	u64 held_here; /* and for how long it had waited for that CPU */
	u64 before; /* the part of its wait until its group had no time left, on the CPU where that was, and */
	u64 brief; /* how long it had a CPU meanwhile */
	struct loop loop;
	u32 late, came_from;
	u32 preempted, pad; /* it last waited because it had lost its CPU */
	u32 bucket[2][BUCKETS];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, struct thread);
} threads SEC(".maps");

/* By thread: the timer that woke it, while it has not run since. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLEEPERS);
	__type(key, u32);
	__type(value, struct timer);
} timers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, struct group);
	__type(value, struct counts);
} groups SEC(".maps");

/* What a group begins with. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct counts);
} nothing SEC(".maps");

/* Files in which threads wait for events: threads with a common file serve the same events. */
struct file {
	u32 tgid, number;
};

struct waiters {
	u64 at; /* when one of them last began to wait, */
	u32 tid; /* and which */
	u32 inside;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct file);
	__type(value, struct waiters);
} files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, ROOM);
	__type(late, struct late_with_turns); /* what is sent, so that its layout is in the object */
	__type(away, struct away);
} late_ones SEC(".maps");

/* Structures that lead from a timerfd to the threads that wait for it: fs/timerfd.c, fs/select.c, fs/eventpoll.c. */
struct hrtimer_sleeper {
	struct task_struct *task;
} KERNEL;

struct list_head {
	struct list_head *next;
} KERNEL;

struct wait_queue_head {
	struct list_head head;
} KERNEL;

struct wait_queue_entry {
	void *private;
	struct list_head entry;
} KERNEL;

struct timerfd_ctx {
	struct wait_queue_head wqh;
} KERNEL;

struct poll_wqueues {
	struct task_struct *polling_task;
} KERNEL;

struct eventpoll {
	struct wait_queue_head wq;
} KERNEL;

struct epitem {
	struct eventpoll *ep;
} KERNEL;

struct eppoll_entry {
	struct epitem *base;
	struct wait_queue_entry wait;
} KERNEL;

struct kernfs_node {
	u64 id;
} KERNEL;

struct cgroup {
	struct kernfs_node *kn;
} KERNEL;

struct css_set {
	struct cgroup *dfl_cgrp;
} KERNEL;

struct kuid {
	u32 val;
} KERNEL;

/* The same on every 64-bit kernel: include/linux/time64.h. */
struct timespec64 {
	s64 tv_sec;
	long tv_nsec;
};

struct cred {
	struct kuid uid;
} KERNEL;

struct task_struct___owned {
	struct css_set *cgroups;
	struct cred *real_cred;
} KERNEL;

static __always_inline struct cpu *here(void)
{
	u32 cpu = bpf_get_smp_processor_id();
	return bpf_map_lookup_elem(&cpus, &cpu);
}

static __always_inline void push(struct cpu *c, u64 until, u32 kind, u32 id, struct task_struct *p)
{
	u64 head = c->head;
	u32 many = chunks;
	u32 place = bpf_get_smp_processor_id() * many + ((u32)(head / EVENTS) & (many - 1));
	struct chunk *chunk = bpf_map_lookup_elem(&ring, &place);
	if (!chunk)
		return;
	struct event *e = &chunk->event[head & (EVENTS - 1)];
	e->until = until;
	e->id = id;
	e->kind = kind;
	if (p) {
		((u64 *)e->comm)[0] = ((u64 *)p->comm)[0];
		((u64 *)e->comm)[1] = ((u64 *)p->comm)[1];
	}
	c->last = until;
	barrier();
	c->head = head + 1;
}

/* The current thread has had the CPU up to then. */
static __always_inline void had_cpu(struct cpu *c, u64 then, u32 kind, struct task_struct *p)
{
	push_running(c, &c->resched, c->last, then, kind, p);
}

/* How often it was preempted. */
static __always_inline u64 losses_of(struct task_struct *p)
{
	return bpf_core_field_exists(p->nivcsw) ? p->nivcsw : 0;
}

static __always_inline u32 kind_of(struct task_struct *p)
{
	return p->prio < REAL_TIME ? URGENT : THREAD;
}

static __always_inline u64 cgroup_of(struct task_struct *p)
{
	struct task_struct___owned *owned = (void *)p;
	if (!bpf_core_field_exists(owned->cgroups) || !bpf_core_field_exists(struct css_set, dfl_cgrp) ||
	    !bpf_core_field_exists(struct cgroup, kn) || !bpf_core_field_exists(struct kernfs_node, id))
		return 0;
	return BPF_CORE_READ(owned, cgroups, dfl_cgrp, kn, id);
}

static __always_inline u32 user_of(struct task_struct *p)
{
	struct task_struct___owned *owned = (void *)p;
	if (!bpf_core_field_exists(owned->real_cred) || !bpf_core_field_exists(struct cred, uid.val))
		return 0;
	return BPF_CORE_READ(owned, real_cred, uid.val);
}

static __always_inline u32 bucket_of(u64 ns)
{
	u64 rest = ns >> LEAST_BITS;
	u32 bits = 0;
	if (!rest)
		return 0;
	if (rest >> 16) { rest >>= 16; bits += 16; }
	if (rest >> 8) { rest >>= 8; bits += 8; }
	if (rest >> 4) { rest >>= 4; bits += 4; }
	if (rest >> 2) { rest >>= 2; bits += 2; }
	if (rest >> 1) bits += 1;
	if (bits > MOST_BITS - LEAST_BITS)
		return BUCKETS - 1;
	return 1 + (bits << SUB_BITS) + ((ns >> (bits + LEAST_BITS - SUB_BITS)) & ((1 << SUB_BITS) - 1));
}

static __always_inline void count(struct thread *t, u64 ns)
{
	u32 place = bucket_of(ns), set = control.set & 1;
	OPAQUE(place);
	if (place >= BUCKETS)
		return;
	t->bucket[set][place]++;
	if (ns > t->longest[set])
		t->longest[set] = ns;
}

/* The last occupants of this CPU, back to those that ended by `from`. */
static __always_inline u32 copy_turns(struct event *to, u64 from)
{
	struct cpu *c = here();
	u32 many = chunks, first = bpf_get_smp_processor_id() * many, found = 0;
	if (!c)
		return 0;
	u64 head = c->head;
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < TURNS && i < head; i++) {
		u64 at = head - 1 - i;
		u32 place = first + ((u32)(at / EVENTS) & (many - 1));
		struct chunk *chunk = bpf_map_lookup_elem(&ring, &place);
		if (!chunk)
			break;
		to[i] = chunk->event[at & (EVENTS - 1)];
		found = i + 1;
		if (to[i].until <= from)
			break;
	}
	return found;
}

static __always_inline void describe(struct whose *w, struct task_struct *p)
{
	w->cgroup = cgroup_of(p);
	w->tid = BPF_CORE_READ(p, pid);
	w->tgid = BPF_CORE_READ(p, tgid);
	w->uid = user_of(p);
	w->cpu = bpf_get_smp_processor_id();
	w->policy = BPF_CORE_READ(p, policy);
	w->priority = BPF_CORE_READ(p, rt_priority);
	w->nice = BPF_CORE_READ(p, static_prio) - NICE_0;
	w->bpf_scheduled = is_scheduled_by_bpf(p);
	bpf_probe_read_kernel(w->comm, sizeof(w->comm), p->comm);
	struct task_struct *leader = BPF_CORE_READ(p, group_leader);
	bpf_probe_read_kernel(w->process, sizeof(w->process), leader->comm);
}

static __always_inline struct timer *timer_of(u32 thread)
{
	u32 place = thread & (SLEEPERS - 1);
	return bpf_map_lookup_elem(&timers, &place);
}

static __always_inline void time_it(struct late *l, struct task_struct *p, struct thread *t, u64 ended, u64 waited, u64 at_last)
{
	u32 pid = BPF_CORE_READ(p, pid);
	struct timer *timer = timer_of(pid);
	l->ended = ended;
	l->waited = waited;
	l->here = at_last;
	if (timer && timer->thread == pid)
		l->timer = *timer;
	else
		l->timer = (struct timer){};
	l->came_from = t->came_from;
	l->turns = l->pad = 0;
	l->preempted = t->preempted;
}

static __noinline int tell(struct task_struct *p, struct thread *t, u64 ended, u64 waited, u64 at_last)
{
	if (!p || !t)
		return 0;
	if (bpf_ringbuf_query(&late_ones, BPF_RB_AVAIL_DATA) < ROOM / 2) {
		struct late_with_turns *all = bpf_ringbuf_reserve(&late_ones, sizeof(*all), 0);
		if (all) {
			time_it(&all->late, p, t, ended, waited, at_last);
			describe(&all->late.whose, p);
			all->late.turns = copy_turns(all->turn, ended - at_last - SAME_SWITCH);
			bpf_ringbuf_submit(all, 0);
			return 0;
		}
	}
	struct late *l = bpf_ringbuf_reserve(&late_ones, sizeof(*l), 0);
	if (!l) {
		__sync_fetch_and_add(&told.lost, 1);
		return 0;
	}
	time_it(l, p, t, ended, waited, at_last);
	describe(&l->whose, p);
	bpf_ringbuf_submit(l, 0);
	return 0;
}

/* The timer that woke it, if one did. It may have been armed for a time that had passed. */
static __always_inline struct timer *woken_by(struct task_struct *p, struct thread *t)
{
	struct timer *timer = timer_of(p->pid);
	if (!timer || timer->thread != p->pid)
		return 0;
	u64 expected = timer->expected > t->armed ? timer->expected : t->armed;
	timer->expected = expected < timer->served ? expected : timer->served;
	return timer;
}

/* How long it waited for the CPU that it gets: unless it was moved since, also before its group had no time left. */
static __always_inline u64 here_in_all(struct thread *t, u64 account, u64 at_last)
{
	return at_last >= account - t->held ? at_last + t->before : at_last;
}

/* A thread has got a CPU: its wait since it last had one, or its lateness by the timer that woke it. Where its account does not say
 * how long it waited, it did since that timer was served. */
static __always_inline void ran(struct task_struct *p, struct thread *t, u64 ended, u64 account, u64 at_last)
{
	u64 waited = account - t->waited + t->brief, losses = losses_of(p);
	if (t->before && at_last < waited)
		at_last = here_in_all(t, account, at_last);
	t->before = t->brief = 0;
	struct timer *timer = woken_by(p, t);
	u32 unknown = t->stage == NEW || (s64)waited < 0;
	if (unknown)
		waited = timer && timer->served < ended ? ended - timer->served : 0;
	u64 late = timer && timer->expected < ended ? ended - timer->expected : waited;
	t->waited = account;
	t->preempted = losses != t->losses;
	t->losses = losses;
	t->stage = KNOWN;
	if (late) {
		count(t, late);
		if (late > control.above) {
			t->late++;
			if (p->tgid != control.self)
				tell(p, t, ended, waited, at_last < waited ? at_last : waited);
		}
	}
	if (timer)
		timer->thread = 0;
}

/* A thread leaves a CPU without an event of its switch to it, as on some virtual machines. The time of that switch is in the
 * scheduler's statistics, on the clock of the run queue: its wait ended then, and is no part of the next one. If it is ready, it
 * loses the CPU now. */
static __always_inline void came_untold(struct cpu *c, struct task_struct *p, u64 now, u32 ready)
{
	u64 arrival = p->sched_info.last_arrival, clock = p->se.cfs_rq->rq->clock;
	u64 since = arrival && clock > arrival ? clock - arrival : 0;
	u64 came = since < now ? now - since : now;
	__sync_fetch_and_add(&told.unseen, 1);
	/* Interrupts since then are in the ring, in order. */
	push(c, came > c->last ? came : c->last, UNSEEN, 0, 0);
	struct thread *t = p->pid ? bpf_task_storage_get(&threads, p, 0, 0) : 0;
	if (!t || t->stage == OVER)
		return;
	ran(p, t, came, p->sched_info.run_delay, ~0ull);
	t->losses -= !!ready;
}

/* A thread leaves the CPU that it got while its group had no time left. If it was set aside at once, its wait goes on; otherwise it
 * was over when it got the CPU. */
static __always_inline void held_leaves(struct cpu *c, struct task_struct *p, u64 now, u32 kind)
{
	struct thread *t = bpf_task_storage_get(&threads, p, 0, 0);
	if (!t || t->stage == OVER)
		return;
	u64 here = t->held_here, ran_for = now - c->ran_from;
	u32 lost = kind & STAYS_READY ? 1 : 0;
	/* What it loses now is no loss before. */
	t->losses += lost;
	if (kind & SET_ASIDE && ran_for <= BRIEF) {
		t->before = here + ran_for;
		t->brief += ran_for;
		return;
	}
	t->before = 0;
	ran(p, t, c->ran_from, t->held, here);
	t->losses -= lost;
}

static __always_inline struct cpu *of(struct rq *rq)
{
	u32 cpu = rq->cpu;
	return bpf_map_lookup_elem(&cpus, &cpu);
}

SEC("fexit/resched_curr")
int BPF_PROG(firm_request, struct rq *rq)
{
	struct cpu *c;
	if (has_resched() && (c = of(rq)))
		resched_firm(&c->resched, rq);
	return 0;
}

SEC("fexit/resched_curr_lazy")
int BPF_PROG(lazy_request, struct rq *rq)
{
	struct cpu *c;
	if (has_resched() && (c = of(rq)))
		resched_lazy(&c->resched, rq);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switches, _Bool preempt, struct task_struct *prev, struct task_struct *next, u32 state)
{
	struct cpu *c = here();
	if (!c)
		return 0;
	u64 now = bpf_ktime_get_ns();
	u32 ready = preempt || !state, kind = kind_of(prev);
	if (c->current != prev->pid)
		came_untold(c, prev, now, ready);
	if (ready && prev->pid)
		kind |= throttled(prev) ? STAYS_READY | SET_ASIDE : STAYS_READY;
	had_cpu(c, now, kind, prev);
	c->resched = (struct resched){};
	if (c->held && c->current == prev->pid)
		held_leaves(c, prev, now, kind);
	c->held = 0;
	c->current = next->pid;
	c->ran_from = now;
	c->ran_before = account_of(next);
	if (!next->pid)
		c->idle_since = now;
	c->soft = 0; /* on PREEMPT_RT a softirq can lose its CPU */
	struct thread *t = next->pid ? bpf_task_storage_get(&threads, next, 0, 0) : 0;
	if (!t || t->stage == OVER)
		return 0;
	u64 queued = next->sched_info.last_queued, clock = next->se.cfs_rq->rq->clock;
	u64 at_last = queued && clock > queued ? clock - queued : 0;
	u64 account = next->sched_info.run_delay + at_last;
	if (t->stage == KNOWN && is_to_be_throttled(next)) {
		t->held_here = t->before ? here_in_all(t, account, at_last) : at_last;
		t->held = account;
		c->held = 1;
		return 0;
	}
	ran(next, t, now, account, at_last);
	return 0;
}

/* Total CPU time of the current thread. */
static __always_inline u64 running(struct cpu *c, struct task_struct *p, u64 now)
{
	return c->current == p->pid ? c->ran_before + (now - c->ran_from) : account_of(p);
}

static __noinline int tell_away(struct task_struct *p, struct thread *t, u64 now, u64 ran)
{
	if (!p || !t)
		return 0;
	struct away *a = bpf_ringbuf_reserve(&late_ones, sizeof(*a), 0);
	if (!a) {
		__sync_fetch_and_add(&told.lost, 1);
		return 0;
	}
	a->from = t->loop.from;
	a->until = now;
	a->running = ran - t->loop.running;
	a->ready = t->waited - t->loop.ready;
	describe(&a->whose, p);
	bpf_ringbuf_submit(a, 0);
	return 0;
}

/* It returns to its events. It is not late if other threads have served them meanwhile, or if it waits for events only now and
 * then, or elsewhere: such a thread only polls here. */
SEC("fentry/do_epoll_wait")
int BPF_PROG(loop_waits, int number, void *events, int most, struct timespec64 *limit)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct thread *t = bpf_task_storage_get(&threads, p, 0, 0);
	struct cpu *c = here();
	if (!t || !c)
		return 0;
	u64 now = bpf_ktime_get_ns();
	struct loop *l = &t->loop;
	struct file key = { p->tgid, number };
	struct waiters *w = bpf_map_lookup_elem(&files, &key);
	if (l->file != number)
		l->returns = 0;
	l->file = number;
	l->polls = limit && !limit->tv_sec && !limit->tv_nsec;
	if (w && l->from && now - l->from > control.away && l->returns >= RETURNS && l->alone &&
	    (w->at < l->from || w->tid == p->pid) && p->tgid != control.self)
		tell_away(p, t, now, running(c, p, now));
	l->from = 0;
	if (w) {
		w->at = now;
		w->tid = p->pid;
		__sync_fetch_and_add(&w->inside, 1);
	} else {
		struct waiters first = { now, p->pid, 1 };
		bpf_map_update_elem(&files, &key, &first, BPF_ANY);
	}
	return 0;
}

SEC("fexit/do_epoll_wait")
int BPF_PROG(loop_returns, int number, void *events, int most, struct timespec64 *limit, int found)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct thread *t = bpf_task_storage_get(&threads, p, 0, 0);
	struct cpu *c = here();
	if (!t || !c || t->loop.file != number)
		return 0;
	u64 now = bpf_ktime_get_ns();
	struct file key = { p->tgid, number };
	struct waiters *w = bpf_map_lookup_elem(&files, &key);
	struct loop *l = &t->loop;
	if (w && w->inside)
		__sync_fetch_and_sub(&w->inside, 1);
	if (l->polls && found <= 0)
		return 0;
	l->alone = w && !w->inside;
	l->from = now;
	l->running = running(c, p, now);
	l->ready = t->waited;
	if (l->returns < RETURNS && !l->polls)
		l->returns++;
	return 0;
}

/* Another CPU pulls a thread: it continues to wait there. A sleeping thread that is only moved because the fair scheduler has kept
 * it queued for its lag (6.12 and later, `sched_delayed`) counts as queued in its statistics for as long as it sleeps: its next
 * wait is not known (kernel/sched/core.c, enqueue_task; kernel/sched/fair.c, can_migrate_task). */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(migrates, struct task_struct *p, int to)
{
	struct thread *t = bpf_task_storage_get(&threads, p, 0, 0);
	if (!t)
		return 0;
	t->came_from = p->thread_info.cpu;
	if (t->stage == KNOWN && p->__state && p->__state != WAKING)
		t->stage = NEW;
	return 0;
}

/* Functions that the kernel calls for the timers of sleeps and time-outs, and for those of `timerfd_create(2)`: their addresses are
 * recorded when user space arms such timers for that purpose. */
enum called { SLEEP = 1, TIMERFD };
struct {
	u32 who, what; /* that thread sets such a one next */
	u64 sleep, timerfd;
} functions SEC(".data.functions") = {};

static __always_inline u64 called_by(struct hrtimer *timer)
{
	return bpf_core_field_exists(timer->function) ? (u64)timer->function : 0;
}

/* Its time may have passed before it was armed: that is the lateness of the thread that armed it. */
SEC("tp_btf/hrtimer_start")
int BPF_PROG(timer_set, struct hrtimer *timer)
{
	struct cpu *c = here();
	/* A timer that an interrupt rearms does not belong to the interrupted thread. */
	if (!c || c->hard || c->soft || timer->base->offset)
		return 0;
	if (functions.what && functions.who == (u32)bpf_get_current_pid_tgid()) {
		if (functions.what == SLEEP)
			functions.sleep = called_by(timer);
		else
			functions.timerfd = called_by(timer);
		functions.what = 0;
	}
	u64 now = bpf_ktime_get_ns();
	if (!c->current || (u64)timer->node.expires > now)
		return 0;
	struct thread *t = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0, 0);
	if (t)
		t->armed = now;
	return 0;
}

/* It sleeps: it has no CPU, and its wake-up has not begun. Anything else at that address has no plausible group leader. */
static __noinline u32 sleeps(struct task_struct *p)
{
	u32 leader = BPF_CORE_READ(p, tgid), state = BPF_CORE_READ(p, __state);
	return leader && BPF_CORE_READ(p, group_leader, pid) == leader && BPF_CORE_READ(p, group_leader, tgid) == leader &&
	       state && state != WAKING && !BPF_CORE_READ(p, on_cpu);
}

/* The timer that is being served wakes that thread. */
static __noinline int wakes(struct cpu *c, u32 thread, u64 expires)
{
	struct timer *timer = timer_of(thread);
	if (!timer || !c)
		return 0;
	struct task_struct *by = bpf_get_current_task_btf();
	timer->thread = 0;
	timer->expected = expires;
	timer->interrupt = c->hard ? c->hard_began : 0;
	timer->first_served = c->first_served;
	timer->served = c->served;
	timer->idle_since = by->pid ? 0 : c->idle_since;
	timer->interrupted = by->pid;
	((u64 *)timer->comm)[0] = ((u64 *)by->comm)[0];
	((u64 *)timer->comm)[1] = ((u64 *)by->comm)[1];
	barrier();
	timer->thread = thread;
	return 0;
}

/* The timer that is being served is to wake that thread, if it sleeps. */
static __noinline int is_to_wake(struct cpu *c, struct task_struct *p, u64 expires)
{
	if (!c || !sleeps(p))
		return 0;
	wakes(c, BPF_CORE_READ(p, pid), expires);
	c->woken = (u64)p;
	return 1;
}

static __always_inline struct wait_queue_entry *first_of(struct wait_queue_head *queue)
{
	return (void *)BPF_CORE_READ(queue, head.next) - bpf_core_field_offset(struct wait_queue_entry, entry);
}

/* The first thread that waits for such a timer: in `read(2)`, in `poll(2)` or `select(2)`, or in epoll. */
static __always_inline void is_to_wake_reader(struct cpu *c, struct timerfd_ctx *timer, u64 expires)
{
	struct wait_queue_entry *entry = first_of((void *)timer + bpf_core_field_offset(struct timerfd_ctx, wqh));
	void *waiting = BPF_CORE_READ(entry, private);
	if (waiting) {
		if (!is_to_wake(c, waiting, expires))
			is_to_wake(c, BPF_CORE_READ((struct poll_wqueues *)waiting, polling_task), expires);
		return;
	}
	struct eppoll_entry *polls = (void *)entry - bpf_core_field_offset(struct eppoll_entry, wait);
	struct eventpoll *events = BPF_CORE_READ(polls, base, ep);
	entry = first_of((void *)events + bpf_core_field_offset(struct eventpoll, wq));
	is_to_wake(c, BPF_CORE_READ(entry, private), expires);
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(timer_served, struct hrtimer *timer)
{
	struct cpu *c = here();
	if (!c)
		return 0;
	u64 now = bpf_ktime_get_ns(), called = called_by(timer);
	if (!c->first_served)
		c->first_served = now;
	c->served = now;
	c->expires = 0;
	if (timer->base->offset)
		return 0;
	u64 expires = timer->node.expires;
	if (called && called == functions.sleep)
		is_to_wake(c, BPF_CORE_READ((struct hrtimer_sleeper *)timer, task), expires);
	else if (called && called == functions.timerfd)
		is_to_wake_reader(c, (void *)timer, expires);
	else
		c->expires = expires;
	return 0;
}

/* A thread that still sleeps was not woken: it may wait for other events, or the signal was for another thread of its process. */
SEC("tp_btf/hrtimer_expire_exit")
int timer_done(void *ctx)
{
	struct cpu *c = here();
	if (!c)
		return 0;
	struct task_struct *p = (void *)c->woken;
	c->expires = c->woken = 0;
	if (!p || !sleeps(p))
		return 0;
	struct timer *timer = timer_of(BPF_CORE_READ(p, pid));
	if (timer)
		timer->thread = 0;
	return 0;
}

/* It has just been woken: the clock of its run queue has not advanced since. */
static __always_inline int has_been_woken(struct task_struct *p)
{
	return p->__state == WAKING || (!p->__state && !p->on_cpu && p->sched_info.last_queued == p->se.cfs_rq->rq->clock);
}

/* A signal wakes its thread before this event. */
SEC("tp_btf/signal_generate")
int BPF_PROG(signalled, int number, void *info, struct task_struct *p)
{
	struct cpu *c = here();
	if (c && c->expires && has_been_woken(p))
		wakes(c, p->pid, c->expires);
	return 0;
}

static __always_inline void begins(u32 kind, u32 id)
{
	struct cpu *c = here();
	if (!c)
		return;
	c->hard = id + 1;
	c->hard_kind = kind;
	c->hard_began = bpf_ktime_get_ns();
	c->first_served = 0;
}

/* The previous occupant of the CPU, up to the interrupt; then the interrupt. */
static __always_inline void is_over(void)
{
	struct cpu *c = here();
	if (!c || !c->hard)
		return;
	u64 now = bpf_ktime_get_ns(), began = c->hard_began;
	if (now - began >= SHORT || began - c->last >= UNPARTED) {
		struct task_struct *p = bpf_get_current_task_btf();
		if (c->soft && !c->soft_told) {
			had_cpu(c, c->soft_began, kind_of(p), p);
			c->soft_told = 1;
		}
		if (c->soft)
			push(c, began, SOFTIRQ, c->soft - 1, 0);
		else
			had_cpu(c, began, kind_of(p), p);
		push(c, now, c->hard_kind, c->hard - 1, 0);
	}
	c->hard = 0;
}

SEC("tp_btf/local_timer_entry")
int tick_begins(void *ctx)
{
	begins(TICK, 0);
	return 0;
}

SEC("tp_btf/local_timer_exit")
int tick_ends(void *ctx)
{
	is_over();
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(handler_begins, int irq)
{
	begins(INTERRUPT, irq);
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(handler_ends, int irq)
{
	is_over();
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_begins, u32 vector)
{
	struct cpu *c = here();
	if (!c)
		return 0;
	c->soft = vector + 1;
	c->soft_told = c->first_served = 0;
	c->soft_began = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_ends, u32 vector)
{
	struct cpu *c = here();
	if (!c || !c->soft)
		return 0;
	u64 now = bpf_ktime_get_ns();
	if (now - c->soft_began >= SHORT || c->soft_told) {
		struct task_struct *p = bpf_get_current_task_btf();
		if (!c->soft_told)
			had_cpu(c, c->soft_began, kind_of(p), p);
		push(c, now, SOFTIRQ, vector, 0);
	}
	c->soft = 0;
	return 0;
}

static __always_inline struct thread *first_seen(struct task_struct *p)
{
	return bpf_task_storage_get(&threads, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* A new thread has not waited yet: its first wait is counted. */
SEC("tp_btf/task_newtask")
int BPF_PROG(is_born, struct task_struct *task)
{
	struct thread *t = first_seen(task);
	if (t) {
		t->waited = task->sched_info.run_delay;
		t->stage = KNOWN;
	}
	return 0;
}

/* The longest wait of one reading. */
static __always_inline void add_longest(struct counts *c, u64 longest, u32 reading)
{
	u32 place = reading & 1;
	if (c->of[place] != reading) {
		c->longest[place] = 0;
		c->of[place] = reading;
	}
	if (longest > c->longest[place])
		c->longest[place] = longest;
}

/* Adds one set of a thread's counts to its group, for the reading of that set. No program counts into it
 * meanwhile. */
static __noinline int add_to_group(struct task_struct *p, struct thread *t, u32 set, u32 reading)
{
	if (!p || !t)
		return 0;
	u32 *bucket = t->bucket[set & 1], any = 0;
	for (u32 i = 0; i < BUCKETS; i++)
		any |= bucket[i];
	if (!any)
		return 0;
	struct group key = { .cgroup = cgroup_of(p), .uid = user_of(p), .policy = BPF_CORE_READ(p, policy) };
	struct task_struct *leader = BPF_CORE_READ(p, group_leader);
	bpf_probe_read_kernel(key.process, sizeof(key.process), leader->comm);
	struct counts *c = bpf_map_lookup_elem(&groups, &key);
	if (!c) {
		u32 only = 0;
		struct counts *none = bpf_map_lookup_elem(&nothing, &only);
		if (none)
			bpf_map_update_elem(&groups, &key, none, BPF_NOEXIST);
		c = bpf_map_lookup_elem(&groups, &key);
	}
	if (!c) {
		__sync_fetch_and_add(&told.uncounted, 1);
		return 0;
	}
	u32 late = t->late;
	__sync_fetch_and_add(&t->late, -late);
	__sync_fetch_and_add(&c->late, late);
	add_longest(c, t->longest[set & 1], reading);
	t->longest[set & 1] = 0;
	for (u32 i = 0; i < BUCKETS; i++) {
		if (bucket[i])
			__sync_fetch_and_add(&c->bucket[i], bucket[i]);
		bucket[i] = 0;
	}
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(ends, struct task_struct *task)
{
	struct thread *t = bpf_task_storage_get(&threads, task, 0, 0);
	if (!t)
		return 0;
	t->stage = OVER;
	add_to_group(task, t, 0, control.set + 1);
	add_to_group(task, t, 1, control.set + 1);
	return 0;
}

/* Sums up the waits of all threads, after user space has changed the set; and starts to follow threads that existed before. */
SEC("iter/task")
int each(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task;
	if (!p || !p->pid || p->exit_state)
		return 0;
	struct thread *t = bpf_task_storage_get(&threads, p, 0, 0);
	if (!t)
		first_seen(p);
	else
		add_to_group(p, t, control.set + 1, control.set);
	return 0;
}

char _license[] SEC("license") = "Dual MIT/GPL";
