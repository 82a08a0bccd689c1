// SPDX-License-Identifier: MIT OR Apache-2.0
/* Sums up what every thread of the machine waits for.
 *
 * One program runs at every switch, and it reads no clock: the scheduler has its own statistics of when a thread got its CPU and
 * how long it was ready before. A sleep is added when the thread leaves its CPU again. Each wait is counted; its stack shows what
 * for, but takes as long as twenty switches, so that it is sampled where a thread waits in a system call in which it was not seen
 * for a while, and as often as the budget of a CPU allows. */
#include "program.h"
#include "throttled.h"
#include "waits.h"

#define TURNS 16 /* a power of two */
#define SAMPLES 128 /* a power of two */
#define CALLS 4 /* a power of two */
#define KERNEL_THREAD 0x00200000
#define WAKING 0x200 /* TASK_WAKING of include/linux/sched.h: it is moved as it is woken */
/* A stack is assumed for this long for threads that wait in the same call. */
#define FRESH 100000000ULL
/* A sample takes 2.5 us: one in this many waits of a CPU, after a number that is free. */
#define BUDGET 100000ULL
#define FREE (64 * BUDGET)
/* Rivals are recorded for waits from this length on. */
#define WORTH 20000
/* Of what is longer ago than all turns, whose turn it was each time that so much had passed. */
#define SAMPLE 500000ULL

/* Counters that user space reads besides the records. */
struct {
	u64 looks;
	u64 unseen; /* turns of a thread that no event told of */
	u64 lost; /* threads that ended, without room for their record */
	u64 unnamed; /* stacks without room */
} told SEC(".data.told") = {};

struct turn {
	u64 until;
	u64 tgid;
};

struct cpu {
	u64 head, samples, spent;
	struct turn turn[TURNS];
	struct turn sample[SAMPLES];
	u64 frames[DEPTH];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpu);
} cpus SEC(".maps");

struct stack {
	u64 frames[DEPTH];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u64);
	__type(value, struct stack);
} stacks SEC(".maps");

/* For the reader's own samples. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stack);
} scratch SEC(".maps");

/* The system call in which a thread waited, and its stack. */
struct call {
	u64 stack, at;
	u64 id;
};

struct thread {
	struct waits waits;
	u64 left, delayed, turns; /* the account when it left its CPU */
	u64 stack; /* what it waits for, if it does */
	u64 read; /* up to then user space knows all */
	u32 blocked, looked;
	u32 moved; /* asleep, to another CPU */
	u32 set_aside; /* ready, and its group had no quota left */
	struct call call[CALLS];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, struct thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} ended SEC(".maps");

static __always_inline struct cpu *here(void)
{
	u32 cpu = bpf_get_smp_processor_id();
	return bpf_map_lookup_elem(&cpus, &cpu);
}

static __always_inline u64 clock_of(struct task_struct *p)
{
	return p->se.cfs_rq->rq->clock;
}

static __always_inline void add(struct wait *w, u64 ns)
{
	w->ns += ns;
	w->count++;
	if (ns > w->max)
		w->max = ns;
}

/* A slot can be reused if it got nothing since user space last read it. */
static __always_inline int is_free(struct thread *t, u64 used)
{
	return !used || used < t->read;
}

VERIFIED_ONCE int add_rival(struct thread *t, u64 tgid, u64 ns, u64 now)
{
	if (!t)
		return 0;
	struct rival *free = 0;
	for (int i = 0; i < RIVALS; i++) {
		struct rival *r = &t->waits.rival[i];
		if (r->used && r->tgid == tgid) {
			r->ns += ns;
			r->used = now;
			return 0;
		}
		if (!free && is_free(t, r->used))
			free = r;
	}
	if (!free) {
		t->waits.more_rivals += ns;
		return 0;
	}
	free->tgid = tgid;
	free->ns = ns;
	free->used = now;
	return 0;
}

struct walk {
	struct cpu *c;
	struct thread *t;
	u64 head, from, until;
	u64 by_samples;
};

static __always_inline struct turn *turn(struct walk *w, u64 back)
{
	return w->by_samples ? &w->c->sample[(w->head - back) & (SAMPLES - 1)] : &w->c->turn[(w->head - back) & (TURNS - 1)];
}

/* One switch further back: its share of the time. */
static long step(u32 i, struct walk *w)
{
	struct turn *one = turn(w, 1 + i), *before = turn(w, 2 + i);
	u64 began = before->until > w->from ? before->until : w->from;
	if (!one->until)
		return 1;
	if (began < w->until) {
		add_rival(w->t, one->tgid, w->until - began, w->until);
		w->until = began;
	}
	return w->until <= w->from;
}

/* Occupants of the CPU from `from` until `until`, when the thread got it: backwards from the most recent switch. */
static __always_inline void was_behind(struct cpu *c, struct thread *t, u64 from, u64 until)
{
	u64 head = c->head, samples = c->samples;
	struct turn *oldest = &c->turn[head & (TURNS - 1)], *last = &c->turn[(head - 1) & (TURNS - 1)];
	struct walk w = { c, t, head, from, until, oldest->until > from };
	if (w.by_samples) {
		u64 sampled = c->sample[(samples - 1) & (SAMPLES - 1)].until;
		w.head = samples;
		if (sampled < from)
			sampled = from;
		if (sampled < until) {
			add_rival(t, last->tgid, until - sampled, until);
			w.until = sampled;
		}
	}
	if (w.until > from)
		bpf_loop(SAMPLES - 2, step, &w, 0);
	if (w.until > from)
		t->waits.more_rivals += w.until - from;
}

VERIFIED_ONCE int add_reason(struct thread *t, u64 ns, u64 now)
{
	if (!t)
		return 0;
	struct reason *free = 0;
	u32 place = 0;
	for (u32 i = 0; i < REASONS; i++) {
		struct reason *r = &t->waits.reason[i];
		if (r->used && r->stack == t->stack) {
			free = r;
			goto found;
		}
		if (!free && is_free(t, r->used)) {
			free = r;
			place = i;
		}
	}
	if (!free) {
		add(&t->waits.rest, ns);
		return 0;
	}
	if (place >= t->waits.reasons)
		t->waits.reasons = place + 1;
	__builtin_memset(free, 0, sizeof(*free));
	free->stack = t->stack;
found:
	free->used = now;
	free->looked_at += t->looked;
	add(&free->wait, ns);
	return 0;
}

/* Adds its last time without a CPU. */
static __always_inline void settle(struct cpu *c, struct thread *t, struct task_struct *p)
{
	u64 turns = p->sched_info.pcount, delayed = p->sched_info.run_delay, came = p->sched_info.last_arrival;
	if (turns == t->turns)
		return; /* it had its CPU all the time */
	if (turns == t->turns + 1) {
		u64 away = came > t->left ? came - t->left : 0, ready = delayed - t->delayed;
		if (ready > away)
			ready = away;
		/* Its statistics include the sleep since then: how much of it is a wait is not known. */
		if (t->moved)
			ready = 0;
		if (ready)
			add(&t->waits.cpu, ready);
		if (ready >= WORTH && t->set_aside)
			add_rival(t, OUT_OF_QUOTA, ready, came);
		else if (ready >= WORTH)
			was_behind(c, t, came - ready, came);
		if (t->blocked)
			add_reason(t, away - ready, came);
	} else {
		__sync_fetch_and_add(&told.unseen, 1);
	}
	t->turns = turns;
	t->delayed = delayed;
}

/* The call in which it waits: number and first argument, which often is the file. */
static __always_inline u64 call_of(struct task_struct *p, u32 state)
{
	u64 id = 0;
	if (!(p->flags & KERNEL_THREAD)) {
		struct pt_regs *regs = (void *)bpf_task_pt_regs(p);
		struct pt_regs___arm64 *arm = (void *)regs;
		if (bpf_core_field_exists(regs->orig_ax) && bpf_core_field_exists(regs->di))
			id = regs->orig_ax * 0x9e3779b97f4a7c15ULL ^ regs->di;
		else if (bpf_core_field_exists(arm->syscallno))
			id = (u64)arm->syscallno * 0x9e3779b97f4a7c15ULL ^ arm->regs[0];
	}
	id = (id ^ state) * 0x9e3779b97f4a7c15ULL;
	return (id ^ id >> 32) | 1;
}

/* Key of a stack: FNV-1a of its words. Returns 0 for an empty one. */
static __noinline u64 kept(struct stack *s, long size)
{
	u64 key = 0xcbf29ce484222325ULL;
	if (!s || size <= 0)
		return 0;
	for (u64 i = 0; i < DEPTH; i++) {
		if (i * 8 >= size)
			s->frames[i] = 0;
		key = (key ^ s->frames[i]) * 0x100000001b3ULL;
	}
	__sync_fetch_and_add(&told.looks, 1);
	if (!bpf_map_lookup_elem(&stacks, &key) && bpf_map_update_elem(&stacks, &key, s, BPF_ANY))
		__sync_fetch_and_add(&told.unnamed, 1);
	return key;
}

/* Whether the budget of this CPU allows another sample. */
static __always_inline int may_look(struct cpu *c, u64 now)
{
	u64 spent = c->spent + FREE < now ? now - FREE : c->spent;
	if (spent > now)
		return 0;
	c->spent = spent + BUDGET;
	return 1;
}

/* Notes what it begins to wait for. */
static __always_inline void begin(void *ctx, struct cpu *c, struct thread *t, u64 id, u64 now)
{
	struct call *call = &t->call[id & (CALLS - 1)];
	int known = call->id == id;
	t->looked = 0;
	t->stack = known ? call->stack : 0;
	if ((known && now - call->at < FRESH) || !may_look(c, now))
		return;
	long size = bpf_get_stack(ctx, c->frames, sizeof(c->frames), 0);
	t->stack = kept((struct stack *)c->frames, size);
	t->looked = !!t->stack;
	call->id = id;
	call->stack = t->stack;
	call->at = now;
}

static __always_inline void had_its_turn(struct cpu *c, u32 tgid, u64 now)
{
	struct turn one = { now, tgid };
	c->turn[c->head++ & (TURNS - 1)] = one;
	if (now - c->sample[(c->samples - 1) & (SAMPLES - 1)].until >= SAMPLE)
		c->sample[c->samples++ & (SAMPLES - 1)] = one;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switches, _Bool preempt, struct task_struct *prev, struct task_struct *next, u32 state)
{
	struct cpu *c = here();
	if (!c)
		return 0;
	u64 now = clock_of(prev);
	struct thread *t = prev->pid ? bpf_task_storage_get(&threads, prev, 0, 0) : 0;
	if (t && t->waits.since) {
		settle(c, t, prev);
		t->left = now;
		t->moved = 0;
		t->blocked = !preempt && state;
		t->set_aside = !t->blocked && throttled(prev);
		if (t->blocked)
			begin(ctx, c, t, call_of(prev, state), now);
	}
	had_its_turn(c, prev->tgid, now);
	return 0;
}

/* A sleeping thread is only moved if the fair scheduler has kept it queued for its lag (6.12 and later, `sched_delayed`): its
 * statistics then count it as queued for as long as it sleeps (kernel/sched/core.c, enqueue_task). */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(moves, struct task_struct *p, int to)
{
	struct thread *t = bpf_task_storage_get(&threads, p, 0, 0);
	if (t && t->blocked && p->__state && p->__state != WAKING)
		t->moved = 1;
	return 0;
}

/* Its earlier waits are not known: `since`, which is set last, marks the start. */
static __always_inline struct thread *first_seen(struct task_struct *p, u64 now, u32 blocked)
{
	struct thread *t = bpf_task_storage_get(&threads, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!t)
		return 0;
	t->left = t->read = now;
	t->turns = p->sched_info.pcount;
	t->delayed = p->sched_info.run_delay;
	t->blocked = blocked;
	barrier();
	t->waits.since = now;
	return t;
}

SEC("tp_btf/task_newtask")
int BPF_PROG(begins, struct task_struct *task)
{
	first_seen(task, clock_of(bpf_get_current_task_btf()), 0);
	return 0;
}

static __always_inline void describe(struct waits *w, struct task_struct *p, u64 now)
{
	w->now = now;
	w->tid = p->pid;
	w->tgid = p->tgid;
	w->flags = p->flags;
	bpf_probe_read_kernel(w->comm, sizeof(w->comm), p->comm);
	bpf_probe_read_kernel(w->process, sizeof(w->process), p->group_leader->comm);
}

static __always_inline u64 size_of(struct waits *w)
{
	u64 n = w->reasons;
	OPAQUE(n);
	if (n > REASONS)
		n = REASONS;
	OPAQUE(n);
	return __builtin_offsetof(struct waits, reason) + n * sizeof(struct reason);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(ends, struct task_struct *task)
{
	struct thread *t = bpf_task_storage_get(&threads, task, 0, 0);
	struct cpu *c = here();
	if (!t || !c || !t->waits.since)
		return 0;
	settle(c, t, task);
	t->blocked = 0;
	t->waits.ended = 1;
	t->waits.pending = NONE;
	describe(&t->waits, task, clock_of(task));
	if (bpf_ringbuf_output(&ended, &t->waits, size_of(&t->waits), BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&told.lost, 1);
	t->waits.since = 0;
	return 0;
}

/* Its current wait, and the start of that. */
static __always_inline void pending(struct thread *t, struct task_struct *p, u64 now)
{
	struct waits *w = &t->waits;
	w->pending = NONE;
	w->pending_ns = 0;
	if (p->on_cpu || t->turns != p->sched_info.pcount)
		return;
	/* Since Linux 6.12 a sleeping thread may stay queued for a while. */
	if (!t->blocked || !p->__state) {
		u64 since = p->sched_info.last_queued;
		if (since && !t->moved) {
			w->pending = FOR_CPU;
			w->pending_ns = now > since ? now - since : 0;
		}
		return;
	}
	w->pending = BLOCKED;
	w->pending_ns = now > t->left ? now - t->left : 0;
	if (!t->stack) {
		u32 only = 0;
		struct stack *s = bpf_map_lookup_elem(&scratch, &only);
		if (s)
			t->stack = kept(s, bpf_get_task_stack(p, s, sizeof(*s), 0));
		t->looked = !!t->stack;
	}
	w->pending_stack = t->stack;
}

SEC("iter/task")
int each(struct bpf_iter__task *ctx)
{
	struct seq_file *seq = ctx->meta->seq;
	struct task_struct *p = ctx->task;
	if (!p || !p->pid || p->exit_state)
		return 0;
	u64 now = clock_of(bpf_get_current_task_btf());
	struct thread *t = bpf_task_storage_get(&threads, p, 0, 0);
	if (!t)
		t = first_seen(p, now, !p->on_cpu && p->__state);
	if (!t || !t->waits.since)
		return 0;
	pending(t, p, now);
	describe(&t->waits, p, now);
	/* The iterator is called again for what does not fit. */
	if (bpf_seq_write(seq, &t->waits, size_of(&t->waits)))
		return 0;
	t->read = now;
	t->waits.cpu.max = t->waits.rest.max = 0;
	for (int i = 0; i < REASONS; i++)
		t->waits.reason[i].wait.max = 0;
	return 0;
}

char _license[] SEC("license") = "Dual MIT/GPL";
