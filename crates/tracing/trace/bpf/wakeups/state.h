/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* State between two events: of each CPU, of each watched thread, and shared with user space. */
#pragma once

#include "../program.h"
#include "../resched.h"
#include "../record.h"

#define WATCHED 4
#define FROZEN 0x8000 /* TASK_FROZEN */
#define RING 1024
#define MASK (RING - 1)
#define HRTIMER 8 /* the softirq that serves timers */
#define RECORDS (8 << 20)
#define FORGETS 256 /* wake-ups, in which a thread's longest wait becomes a third */
#define KEPT 256 /* a power of two */

/* The watched processes, and whether their children are watched as well; user space may write it at any time. No process has the
 * id ~0. */
struct {
	u32 tgid[WATCHED];
	u32 children;
} control SEC(".data.control") = { { ~0u, ~0u, ~0u, ~0u }, 0 };

#define WAIT_CALLS 8

/* A call in which event loops wait: its number, and the register of the argument that determines whether it waits: any of these
 * bits, if there are some. */
struct wait_call {
	u32 number, kind, rank, argument;
	u64 mask;
};

/* Set by user space: the numbers on this machine, and from which length on iterations are long. */
struct {
	u64 above;
	struct wait_call call[WAIT_CALLS];
} loops SEC(".data.loops") = { ~0ull };

/* Set by user space: whether requests to servers are followed. */
struct {
	u64 are_followed;
} requests SEC(".data.requests") = { 0 };

/* Counters that user space reads besides the records. */
struct {
	u64 lost; /* records that did not fit */
	u32 stopper;
	u32 unseen; /* switches that no event told of */
	char comm[16];
	u64 missed; /* wake-ups that no event told of */
} told SEC(".data.told") = {};

struct event {
	u64 until;
	u32 id, kind;
	char comm[16];
};

/* An interrupt that left its timers to a softirq: its time, and the thread that it interrupted. */
struct deferral {
	u64 at, idle_since;
	u32 pid, pad;
	char comm[16];
};

/* Ahead of ready real-time threads: the current thread, an ordinary one; or one that the current thread preempted. */
enum { RUNS_AHEAD = 1, SET_ASIDE };

struct cpu {
	u32 waiting, current;
	u64 interrupt, first_served, served, soft, hard;
	u32 in_tick, timer;
	u64 head, handler_began, idle_since;
	u32 handler, softirq;
	u32 woke; /* a watched thread, in the interrupt that it is in; 2: and no timer was served since */
	u32 ahead; /* of real-time threads that are ready */
	u64 rearmed; /* when the timer's device was, after its interrupt */
	u64 called; /* an idle CPU, by another one, the first time since a watched thread was woken for it */
	struct resched resched; /* of the current thread */
	u64 set_aside, freed; /* a watched thread whose group has no time left; when it had again */
	struct deferral deferred, serving; /* not served yet; being served */
	u64 switches; /* in all */
	u64 wakes, over; /* of watched threads, in interrupts; such interrupts that are over */
	u64 next_timer[KEPT]; /* of the most recent of those: when the next timer was served, or 0 */
	u64 end[KEPT]; /* and when they were over */
	struct event ring[RING];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpu);
} cpus SEC(".maps");

/* LEAVES: it was woken while it was about to sleep, and has left its CPU. Whether it sleeps, or waits for a CPU since the wake-up came
 * while it left, the next event says: it is woken again, or gets a CPU without that. */
enum stage { ASLEEP, WOKEN, RUNS, NEVER_LEFT, OVER, LEAVES };

/* An event loop: its current iteration, if `from` is not 0, and its current state and the start of that. */
struct loop {
	u64 since;
	u32 progress, rank;
	u32 in; /* the call that the thread is in */
	u32 waits, slept; /* in the call in which it waits for events; slept in another one */
	u32 sees_calls; /* whether `in` is known */
	u64 called; /* when it began its last call, if requests are followed */
	struct iteration iteration;
};

struct thread {
	u64 head; /* of the CPU's ring at the switch */
	u64 pulled; /* when another CPU took it from the one that it waited for; 0: none did */
	u64 lost_here; /* since when it is without this CPU */
	u64 served_head; /* of the ring of the CPU that served its timer in a softirq, then */
	u64 got, account; /* when it last got a CPU, as far as was seen; how long it had had one when it last got or lost it */
	u64 stolen; /* from the CPU on which it last went to sleep, in all until then */
	u64 longest; /* of its waits, of late */
	u64 left, switches; /* when it last left a CPU to sleep, and the switches of that CPU until then */
	u64 wake, interrupt; /* their numbers on the CPU in whose interrupt it was woken */
	u32 stage, cpu;
	u32 lost; /* runs, but has no CPU now: 1, or 2 while who has it is taken down */
	u32 woken_on, in_interrupt;
	u32 slept_on; /* that CPU, from 1 */
	u32 left_on; /* that CPU */
	u32 unseen; /* its wake-up was not seen, since when it has not slept again */
	struct record record;
	struct loop loop;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, struct thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RECORDS);
	__type(life, struct life); /* what is sent, so that its layout is in the object; the others are in `threads` */
	__type(request, struct request);
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

/* A child of a watched process is known from its fork on; without children, there is no overhead of looking. */
static __always_inline int watched(struct task_struct *p)
{
	return named(p->tgid) || (control.children && known(p));
}

/* Copies a name by words: the compiler would copy bytes, as it does not know the alignment in the kernel. */
static __always_inline void copy(char *to, const char *from)
{
	((u64 *)to)[0] = ((const u64 *)from)[0];
	((u64 *)to)[1] = ((const u64 *)from)[1];
}
