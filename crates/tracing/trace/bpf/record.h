/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What user space gets of one sleep of one thread, of its life, and of one iteration of its event loop;
 * `crates/tracing/trace/src/bpf/{record,life,iteration}.rs` read it, and tell the three apart by their length.
 * Times: CLOCK_MONOTONIC, nanoseconds; 0: not seen. */
#pragma once

#include "occupant.h"

#define OCCUPANTS 10
#define STRETCHES 96
#define LOSSES 4 /* a power of two */

#define LOST_TO 32 /* times the number of the loss, from 1, added to the kind: had the CPU then */
#define BEFORE 16 /* added to the kind: had the CPU while the timer waited for its softirq */
#define SEVERAL 0x10000 /* added to the kind: threads of one name, of which `id` is one */

/* All that one name had of a wait. */
struct occupant {
	__u64 ns;
	__u32 id; /* thread, interrupt or softirq, by `kind` */
	enum occupant_kind kind;
	char comm[16];
};

#define NAMELESS OCCUPANTS /* instead of a place: its name found no room */
#define WAITED_BITS 8

/* One of the stretches that those are made of: the most recent ones of each wait, from the last one backwards. */
struct stretch {
	__u64 from, until;
	__u32 id;
	__u32 who; /* the place of its occupant; from bit WAITED_BITS on, what is added to that one's kind */
};

/* What kept it from its CPU, if not whoever had that: the quota of its group; or its own runtime of SCHED_DEADLINE, used up. */
enum kept_off { BY_OTHERS, BY_QUOTA, BY_BUDGET };

/* The thread lost the CPU again. */
struct loss {
	__u64 from, until;
	__u32 kept_off, pad;
};

/* Instead of a system call's number: it slept in none, so that it was a page fault; nobody saw. */
#define NO_CALL ~0u
#define UNSEEN_CALL ~1u

enum flags {
	BY_TIMER = 1, /* woken by a timer; `by` is whom its interrupt came upon, otherwise who woke */
	BY_INTERRUPT = 2, /* `by` is an interrupt handler */
	BY_SOFTIRQ = 4, /* `by` is a softirq */
	MIGRATED = 8,
	THROTTLED = 16, /* its group had no quota left when it was woken */
	RT_THROTTLED = 32,
	REAL_TIME_THREAD = 64, /* it is one itself */
};

struct record {
	__u64 since; /* asleep since */
	__u64 soft, hard; /* the timer's two times */
	__u64 interrupt, first_served, served;
	__u64 waking, runnable, switched_in, fault, again; /* again: asleep again */
	__u64 older; /* of the wait: longer ago than the ring of occupants goes */
	__u64 others; /* of the wait: had by those whose names found no room */
	__u64 deferred; /* when the interrupt came that left the timer to a softirq */
	__u64 idle_since; /* of the CPU that the interrupt came upon, if it was idle */
	__u64 called; /* when its CPU, which was idle, took the interrupt that another one had sent */
	__u64 next_timer; /* when the first timer after its own was served in the interrupt that woke it */
	__u64 stolen; /* by the hypervisor from its CPU since the sleep before began, where it was the same CPU */
	__u64 rearmed; /* when the device was armed anew after the interrupt before */
	__u32 tid, cpu, by, flags;
	__u32 since_state; /* the state it slept in */
	__u32 losses; /* how many; the first ones are listed */
	__u32 stopper; /* who sent the most recent stop signal */
	__u32 occupants, stretches; /* how many there are; without stretches, only those occupants follow */
	__u32 slept_in; /* the system call that it slept in */
	char by_comm[16], stopper_comm[16];
	struct loss loss[LOSSES];
	struct occupant occupant[OCCUPANTS];
	struct stretch stretch[STRETCHES];
};

enum happened { BORN, NAMED, ENDED };

/* A watched thread has begun, gets another name, or ends; how it is scheduled then. */
struct life {
	__u64 at, slack;
	__u32 tid, process, what;
	__u32 policy, priority;
	__s32 nice;
	char comm[16];
};

#define FRAMES 28 /* so that an iteration is shorter than a sleep */

/* From the return of a call in which an event loop waits until the thread comes back to it. What it was neither blocked nor
 * ready for, it ran. */
struct iteration {
	__u64 from, until;
	__u64 blocked, ready; /* asleep; ready, and waiting for a CPU */
	__u64 longest; /* the longest of its sleeps, */
	__u32 longest_in; /* and the call that it was in; ~0: none */
	__u32 tid, kind;
	__u32 on; /* the call's argument: of epoll, the file */
	__u32 frames, looked; /* frames of the program's stack that follow; whether it was looked */
	__u64 frame[FRAMES]; /* the innermost first */
};
