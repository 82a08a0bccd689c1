/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Records of every thread's waits for a CPU; `crates/tracing/trace/src/late/` reads them.
 * Times: CLOCK_MONOTONIC, nanoseconds. */
#pragma once

#include "occupant.h"

#define EVENTS 128 /* of a chunk; a power of two */
#define TURNS 32 /* the last events, sent with a late wait: its ring may be overwritten before it is read */
#define SAME_SWITCH 100000 /* the scheduler and the programs read the clock at different points of one switch */
#define LEAST_BITS 10 /* waits below 2^10 ns are one bucket */
#define SUB_BITS 2 /* each doubling above has four */
#define MOST_BITS 34 /* waits of 2^35 ns and more are counted in the last bucket */
#define BUCKETS (1 + ((MOST_BITS - LEAST_BITS + 1) << SUB_BITS))

#define STAYS_READY 0x100 /* added: the thread that left the CPU remained runnable */
#define SET_ASIDE 0x200 /* added: its cgroup was throttled */

/* This occupant had the CPU until then, from the previous event on. */
struct event {
	__u64 until;
	__u32 id; /* thread, interrupt or softirq */
	enum occupant_kind kind;
	char comm[16];
};

struct chunk {
	struct event event[EVENTS];
};

/* The timer that woke a thread: of CLOCK_MONOTONIC only, as other clocks would seem late when they are set. */
struct timer {
	__u64 expected; /* latest expiry, with its slack, or when it was armed if that was later; 0: no timer */
	__u64 interrupt; /* start of the interrupt that served it; 0: a softirq or a thread did */
	__u64 first_served, served; /* when the first timer of that interrupt was served, and this one */
	__u64 idle_since; /* of the interrupted CPU; 0: it was not idle */
	__u32 interrupted; /* the interrupted thread */
	__u32 thread; /* the thread that it wakes */
	char comm[16];
};

/* A thread, its process and its cgroup. */
struct whose {
	__u64 cgroup; /* of the unified hierarchy; 0 where that is not known */
	__u32 tid, tgid, uid, cpu;
	__u32 policy, priority;
	__s32 nice;
	__u32 bpf_scheduled; /* a program of BPF decides when it runs */
	char comm[16], process[16];
};

/* A thread got a CPU later than allowed: it had waited for one, or its timer came late, or both. */
struct late {
	__u64 ended;
	__u64 waited; /* for a CPU, in all, and for the one that it got */
	__u64 here;
	struct timer timer;
	__u32 came_from; /* the CPU from which it was pulled while it waited, if `here` is less than `waited` */
	__u32 turns; /* number of events that follow, the last first: occupants of its CPU, back to the start of the wait or as far as there is room */
	__u32 preempted, pad; /* it had a CPU before, and remained runnable */
	struct whose whose;
};

/* An event loop did not return to its events for longer than allowed. User space distinguishes the records by their length. */
struct away {
	__u64 from, until;
	__u64 running, ready; /* the thread had a CPU, and waited for one; the rest of the time it was blocked */
	struct whose whose;
};

struct late_with_turns {
	struct late late;
	struct event turn[TURNS];
};

/* Threads that are counted together. */
struct group {
	__u64 cgroup;
	__u32 uid, policy;
	char process[16];
};

struct counts {
	__u64 longest[2], of[2]; /* longest wait of the even and of the odd readings, and the numbers of those readings */
	__u64 late;
	__u64 bucket[BUCKETS];
};
