// SPDX-License-Identifier: MIT OR Apache-2.0
/* Counts how long every thread of the machine waits for a CPU, and tells of the waits that are too long.
 *
 * One program is on the way of every switch. How long the thread that gets the CPU has waited is in the scheduler's own
 * account; who had the CPU meanwhile is in a ring of each CPU, which user space reads when a wait was too long. Nothing is
 * looked up, walked or sent for the others. */
#include "program.h"
#include "throttled.h"
#include "late.h"

#define NICE_0 120 /* the kernel's priority of a thread that is neither nice nor real-time */
#define WAKING 0x200 /* TASK_WAKING of include/linux/sched.h: it is moved as it is woken */
#define ROOM (1 << 20) /* bytes for late waits that user space has not read yet; of them, half for such with their turns */
#define SHORT 4000 /* interrupts and softirqs below count as time of whom they came upon */

/* User space says before loading how many chunks each CPU's ring has, a power of two, and at any time which waits are late. */
const volatile u32 chunks = 1;
struct {
	u64 above;
	u32 self; /* the process that reads this, whose waits are counted and not told */
	u32 set; /* of counts, into which all are counted now; the other one is read */
} control SEC(".data.control") = { ~0ull, 0, 0 };

/* What user space reads besides. */
struct {
	u64 lost; /* late waits that found no room */
	u64 unseen; /* switches that no event told of */
	u64 uncounted; /* threads whose counts found no room in a group */
} told SEC(".data.told") = {};

struct cpu {
	u64 head; /* events in all */
	u64 hard_began, soft_began;
	u64 last; /* until when the last of them was */
	u32 current;
	u32 hard, soft; /* the interrupt or softirq that it is in, from 1 */
	u32 hard_kind;
	u32 soft_told; /* who had the CPU before the softirq is in the ring */
	u32 pad;
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

/* Of one that was there before, the account is known from its first switch on; what waits while it is taken apart is none of
 * its program's. */
enum stage { NEW, KNOWN, OVER };

struct thread {
	u64 waited; /* by the scheduler's account, until it last got a CPU */
	u64 stage;
	u64 longest;
	u32 late, came_from;
	u32 bucket[2][BUCKETS];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, struct thread);
} threads SEC(".maps");

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

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, ROOM);
} late_ones SEC(".maps");

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
	u32 place = bucket_of(ns);
	OPAQUE(place);
	if (place >= BUCKETS)
		return;
	t->bucket[control.set & 1][place]++;
	if (ns > t->longest)
		t->longest = ns;
}

/* The last of who had this CPU, up to what was over by `from`. */
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

static __always_inline void describe(struct late *l, struct task_struct *p, struct thread *t)
{
	l->cgroup = cgroup_of(p);
	l->tid = BPF_CORE_READ(p, pid);
	l->tgid = BPF_CORE_READ(p, tgid);
	l->uid = user_of(p);
	l->cpu = bpf_get_smp_processor_id();
	l->came_from = t->came_from;
	l->policy = BPF_CORE_READ(p, policy);
	l->priority = BPF_CORE_READ(p, rt_priority);
	l->nice = BPF_CORE_READ(p, static_prio) - NICE_0;
	l->turns = l->pad = 0;
	bpf_probe_read_kernel(l->comm, sizeof(l->comm), p->comm);
	struct task_struct *leader = BPF_CORE_READ(p, group_leader);
	bpf_probe_read_kernel(l->process, sizeof(l->process), leader->comm);
}

static __noinline int tell(struct task_struct *p, struct thread *t, u64 ended, u64 waited, u64 at_last)
{
	if (!p || !t)
		return 0;
	if (bpf_ringbuf_query(&late_ones, BPF_RB_AVAIL_DATA) < ROOM / 2) {
		struct late_with_turns *all = bpf_ringbuf_reserve(&late_ones, sizeof(*all), 0);
		if (all) {
			all->late.ended = ended;
			all->late.waited = waited;
			all->late.here = at_last;
			describe(&all->late, p, t);
			all->late.turns = copy_turns(all->turn, ended - at_last - SAME_SWITCH);
			bpf_ringbuf_submit(all, BPF_RB_NO_WAKEUP);
			return 0;
		}
	}
	struct late *l = bpf_ringbuf_reserve(&late_ones, sizeof(*l), 0);
	if (!l) {
		__sync_fetch_and_add(&told.lost, 1);
		return 0;
	}
	l->ended = ended;
	l->waited = waited;
	l->here = at_last;
	describe(l, p, t);
	bpf_ringbuf_submit(l, BPF_RB_NO_WAKEUP);
	return 0;
}

/* A thread has got a CPU: what it waited since the last time that it did. */
static __always_inline void ran(struct task_struct *p, struct thread *t, u64 ended, u64 account, u64 at_last)
{
	u64 waited = account - t->waited;
	t->waited = account;
	if (t->stage == NEW || (s64)waited <= 0) {
		t->stage = KNOWN;
		return;
	}
	count(t, waited);
	if (waited > control.above) {
		t->late++;
		if (p->tgid != control.self)
			tell(p, t, ended, waited, at_last < waited ? at_last : waited);
	}
}

/* A thread leaves a CPU to which no event told that it came, as on some virtual machines. When it did is in the scheduler's
 * account, on the clock of its queue: its wait ended then, and is not a part of its next one. */
static __always_inline void came_untold(struct cpu *c, struct task_struct *p, u64 now)
{
	u64 arrival = p->sched_info.last_arrival, clock = p->se.cfs_rq->rq->clock;
	u64 since = arrival && clock > arrival ? clock - arrival : 0;
	u64 came = since < now && now - since > c->last ? now - since : c->last;
	__sync_fetch_and_add(&told.unseen, 1);
	push(c, came, UNSEEN, 0, 0);
	struct thread *t = p->pid ? bpf_task_storage_get(&threads, p, 0, 0) : 0;
	if (t && t->stage != OVER)
		ran(p, t, came, p->sched_info.run_delay, ~0ull);
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
		came_untold(c, prev, now);
	if (ready && prev->pid)
		kind |= throttled(prev) ? STAYS_READY | SET_ASIDE : STAYS_READY;
	push(c, now, kind, prev->pid, prev);
	c->current = next->pid;
	c->soft = 0; /* on PREEMPT_RT a softirq can lose its CPU */
	struct thread *t = next->pid ? bpf_task_storage_get(&threads, next, 0, 0) : 0;
	if (!t || t->stage == OVER)
		return 0;
	u64 queued = next->sched_info.last_queued, clock = next->se.cfs_rq->rq->clock;
	u64 at_last = queued && clock > queued ? clock - queued : 0;
	ran(next, t, now, next->sched_info.run_delay + at_last, at_last);
	return 0;
}

/* Another CPU takes a thread: it goes on waiting there. One that sleeps, and is only moved as the fair scheduler has kept it queued
 * for its debt (6.12 and later, `sched_delayed`), is queued by its account from then on, for as long as it sleeps: nothing is
 * known of its next wait (kernel/sched/core.c, enqueue_task; kernel/sched/fair.c, can_migrate_task). */
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

static __always_inline void begins(u32 kind, u32 id)
{
	struct cpu *c = here();
	if (!c)
		return;
	c->hard = id + 1;
	c->hard_kind = kind;
	c->hard_began = bpf_ktime_get_ns();
}

/* Who had the CPU before, up to the interrupt; then the interrupt. */
static __always_inline void is_over(void)
{
	struct cpu *c = here();
	if (!c || !c->hard)
		return;
	u64 now = bpf_ktime_get_ns(), began = c->hard_began;
	if (now - began >= SHORT) {
		struct task_struct *p = bpf_get_current_task_btf();
		if (c->soft && !c->soft_told) {
			push(c, c->soft_began, kind_of(p), p->pid, p);
			c->soft_told = 1;
		}
		if (c->soft)
			push(c, began, SOFTIRQ, c->soft - 1, 0);
		else
			push(c, began, kind_of(p), p->pid, p);
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
	c->soft_told = 0;
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
			push(c, c->soft_began, kind_of(p), p->pid, p);
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

/* What was counted of a thread, in one set of counts, becomes its group's. Nobody counts into it meanwhile. */
static __noinline int add_to_group(struct task_struct *p, struct thread *t, u32 set)
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
	u64 longest = t->longest;
	if (longest > c->longest)
		c->longest = longest;
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
	add_to_group(task, t, 0);
	add_to_group(task, t, 1);
	return 0;
}

/* Adds up what all threads have waited, after user space has changed the set; and takes in those that were there before. */
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
		add_to_group(p, t, control.set + 1);
	return 0;
}

char _license[] SEC("license") = "Dual MIT/GPL";
