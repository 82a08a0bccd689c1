/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What user space gets of one thread: what it has waited for since it was first seen.
 * `crates/tracing/trace/src/waits/record.rs` reads it. Times: the scheduler's clock, nanoseconds. */
#pragma once

#define REASONS 16
#define RIVALS 8
#define DEPTH 20
/* In place of a process: the thread's control group had used up its quota. */
#define OUT_OF_QUOTA 0xffffffffU

/* Waits that are over. Counts only grow: what is new is the difference of two readings. */
struct wait {
	__u64 ns, count;
	__u64 max; /* since the reading before */
};

/* Waits that began at one place of the kernel. */
struct reason {
	__u64 stack; /* which: the key of `stacks`; 0: nobody looked */
	__u64 used; /* when the most recent one was over */
	struct wait wait;
	__u64 looked_at; /* how many of them had a look at their own stack */
};

/* Who had the CPU that it waited for. */
struct rival {
	__u64 ns, used;
	__u32 tgid, pad; /* 0: the CPU was idle; OUT_OF_QUOTA: nobody */
};

/* A wait that is not over. */
enum pending { NONE, FOR_CPU, BLOCKED };

struct waits {
	__u64 since, now; /* seen from when until when */
	__u32 tid, tgid, flags, ended;
	char comm[16], process[16];
	__u64 pending_ns, pending_stack;
	__u32 pending, reasons; /* reasons: how many follow */
	struct wait cpu; /* ready to run */
	struct rival rival[RIVALS];
	__u64 more_rivals; /* ns: those who found no room, or were too many turns ago */
	struct wait rest; /* for reasons that found no room */
	struct reason reason[REASONS];
};
