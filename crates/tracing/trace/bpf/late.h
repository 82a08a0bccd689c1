/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What user space gets of every thread's waits for a CPU; `crates/tracing/trace/src/late/` reads it.
 * Times: CLOCK_MONOTONIC, nanoseconds. */
#pragma once

#include "occupant.h"

#define EVENTS 128 /* of a chunk; a power of two */
#define TURNS 32 /* of these, the last ones go with a late wait: its ring may be written over before it is read */
#define SAME_SWITCH 100000 /* the scheduler's clock and the programs' are read at different moments of one switch */
#define LEAST_BITS 10 /* waits below 2^10 ns are one bucket */
#define SUB_BITS 2 /* each doubling above has four */
#define MOST_BITS 34 /* waits of 2^35 ns and more are counted in the last bucket */
#define BUCKETS (1 + ((MOST_BITS - LEAST_BITS + 1) << SUB_BITS))

#define OCCUPANT_KIND 0xff /* of an event's kind; the rest is added to it */
#define STAYS_READY 0x100 /* added: the thread that left the CPU could have gone on */
#define SET_ASIDE 0x200 /* added: its control group had no time left */

/* Until then the CPU was this one's, since the event before. */
struct event {
	__u64 until;
	__u32 id; /* thread, interrupt or softirq */
	enum occupant_kind kind;
	char comm[16];
};

struct chunk {
	struct event event[EVENTS];
};

/* The timer that woke a thread: one of CLOCK_MONOTONIC, as others show lateness where their clock was set. */
struct timer {
	__u64 expected; /* by when it was to expire, its slack included, or when it was set if that was later; 0: none did */
	__u64 interrupt; /* when the one came that served it; 0: a softirq or a thread did */
	__u64 first_served, served; /* when the first one of that was, and it */
	__u64 idle_since; /* of the CPU that it came upon; 0: that one was not idle */
	__u32 interrupted; /* the thread that had it */
	__u32 thread; /* the one that it wakes */
	char comm[16];
};

/* A thread, and what it belongs to. */
struct whose {
	__u64 cgroup; /* of the unified hierarchy; 0 where that is not known */
	__u32 tid, tgid, uid, cpu;
	__u32 policy, priority;
	__s32 nice;
	__u32 pad;
	char comm[16], process[16];
};

/* A thread got a CPU later than allowed: it had waited for one, or its timer came late, or both. */
struct late {
	__u64 ended;
	__u64 waited; /* for a CPU, in all, and for the one that it got */
	__u64 here;
	struct timer timer;
	__u32 came_from; /* it was taken from that CPU while it waited, if `here` is less than `waited` */
	__u32 turns; /* that follow, the last first: who had its CPU, back to the beginning or as far as there is room */
	__u32 preempted, pad; /* it had a CPU before, and could have gone on */
	struct whose whose;
};

/* An event loop did not come back to its events for longer than allowed. User space tells the two apart by their length. */
struct away {
	__u64 from, until;
	__u64 running, ready; /* the thread had a CPU, and waited for one; the rest of it, it was blocked */
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
	__u64 longest[2], of[2]; /* of the waits that a reading of that number tells of: even ones, and odd ones */
	__u64 late;
	__u64 bucket[BUCKETS];
};
