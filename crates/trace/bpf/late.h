/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What user space gets of every thread's waits for a CPU; `crates/trace/src/late/` reads it.
 * Times: CLOCK_MONOTONIC, nanoseconds. */
#pragma once

#define EVENTS 128 /* of a chunk; a power of two */
#define TURNS 32 /* of these, the last ones go with a late wait: its ring may be written over before it is read */
#define SAME_SWITCH 100000 /* the scheduler's clock and the programs' are read at different moments of one switch */
#define LEAST_BITS 10 /* waits below 2^10 ns are one bucket */
#define SUB_BITS 2 /* each doubling above has four */
#define MOST_BITS 34 /* waits of 2^35 ns and more are counted in the last bucket */
#define BUCKETS (1 + ((MOST_BITS - LEAST_BITS + 1) << SUB_BITS))

/* What had a CPU. */
enum had { THREAD, INTERRUPT, SOFTIRQ, TICK, UNSEEN, URGENT };
#define HAD 0xff
#define STAYS_READY 0x100 /* added: the thread that left the CPU could have gone on */
#define SET_ASIDE 0x200 /* added: its control group had no time left */

/* Until then the CPU was this one's, since the event before. */
struct event {
	__u64 until;
	__u32 id; /* thread, interrupt or softirq */
	__u32 kind;
	char comm[16];
};

struct chunk {
	struct event event[EVENTS];
};

/* A thread got a CPU that it had waited for longer than allowed. */
struct late {
	__u64 ended;
	__u64 waited; /* in all, and for the CPU that it got */
	__u64 here;
	__u64 cgroup; /* of the unified hierarchy; 0 where that is not known */
	__u32 tid, tgid, uid;
	__u32 cpu, came_from; /* it was taken from that one while it waited, if `here` is less than `waited` */
	__u32 policy, priority;
	__s32 nice;
	__u32 turns, pad; /* that follow, the last first: who had that CPU, back to the beginning or as far as there is room */
	char comm[16], process[16];
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
	__u64 longest, late;
	__u64 bucket[BUCKETS];
};
