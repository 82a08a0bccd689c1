/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Record of one thread: what it has waited for since it was first seen.
 * `crates/tracing/trace/src/waits/record.rs` reads it. Times: the scheduler's clock, nanoseconds. */
#pragma once

#define REASONS 16
#define RIVALS 8
#define DEPTH 20
/* In place of a process: the thread's cgroup was throttled. */
#define OUT_OF_QUOTA 0xffffffffU

/* Completed waits. Counts only grow: new waits are the difference of two readings. */
struct wait {
	__u64 ns, count;
	__u64 max; /* since the previous reading */
};

/* Waits that began at one kernel stack. */
struct reason {
	__u64 stack; /* key of `stacks`; 0: not sampled */
	__u64 used; /* end of the most recent one */
	struct wait wait;
	__u64 looked_at; /* for how many of them the stack was sampled */
};

/* The process that used the CPU during the wait. */
struct rival {
	__u64 ns, used;
	__u32 tgid, pad; /* 0: the CPU was idle; OUT_OF_QUOTA: throttled */
};

/* A wait that has not ended. */
enum pending { NONE, FOR_CPU, BLOCKED };

struct waits {
	__u64 since, now; /* start and end of the observation */
	__u32 tid, tgid, flags, ended;
	char comm[16], process[16];
	__u64 pending_ns, pending_stack;
	__u32 pending, reasons; /* reasons: how many follow */
	struct wait cpu; /* ready to run */
	struct rival rival[RIVALS];
	__u64 more_rivals; /* ns: of those that did not fit, or were too many switches ago */
	struct wait rest; /* for reasons that did not fit */
	struct reason reason[REASONS];
};
