/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Records of a thread's sleeps, of its start, renaming and end, of iterations of its event loop, and of requests that it answers;
 * `crates/tracing/trace/src/bpf/{record,lifecycle,iteration,request}.rs` read them, and distinguish them by their length.
 * Times: CLOCK_MONOTONIC, nanoseconds; 0: not seen. */
#pragma once

#include "occupant.h"

#define OCCUPANTS 10
#define STRETCHES 96
#define LOSSES 4 /* a power of two */

#define LOST_TO 32 /* times the number of the loss, from 1, added to the kind: used the CPU during that loss */
#define BEFORE 16 /* added to the kind: used the CPU while the timer waited for its softirq */
#define SEVERAL 0x10000 /* added to the kind: threads of one name, of which `id` is one */

/* Total CPU time of one name during a wait. */
struct occupant {
	__u64 ns;
	__u32 id; /* thread, interrupt or softirq, by `kind` */
	enum occupant_kind kind;
	char comm[16];
};

#define NAMELESS OCCUPANTS /* instead of an index: its name did not fit */
#define WAITED_BITS 8

/* A stretch of CPU time of an occupant: the most recent ones of each wait, from the last one backwards; beyond those, the long ones. */
struct stretch {
	__u64 from, until;
	__u32 id;
	__u32 who; /* index of its occupant; from bit WAITED_BITS on, what is added to the kind of that occupant */
};

/* Why it lost its CPU: to other occupants, by the quota of its group, or by its used up SCHED_DEADLINE runtime. */
enum kept_off { BY_OTHERS, BY_QUOTA, BY_BUDGET };

/* The thread lost the CPU again. */
struct loss {
	__u64 from, until;
	__u32 kept_off, pad;
};

/* Instead of a system call's number: it slept in none, which is a page fault; that was not seen; or it did not sleep, but was started. */
#define NO_CALL ~0u
#define UNSEEN_CALL ~1u
#define STARTED ~2u

enum flags {
	BY_TIMER = 1, /* woken by a timer, whose interrupt interrupted `by`; otherwise `by` is the waker */
	BY_INTERRUPT = 2, /* `by` is an interrupt handler */
	BY_SOFTIRQ = 4, /* `by` is a softirq */
	MIGRATED = 8,
	THROTTLED = 16, /* its group had no quota left when it was woken */
	RT_THROTTLED = 32,
	REAL_TIME_THREAD = 64, /* it is one itself */
	OUT_OF_RUNTIME = 128, /* its SCHED_DEADLINE runtime was used up when it was woken */
	BPF_SCHEDULED = 256, /* a program of BPF decided when it got a CPU */
};

struct record {
	__u64 since; /* asleep since */
	__u64 soft, hard; /* earliest and latest expiry of the timer */
	__u64 interrupt, first_served, served;
	__u64 waking, runnable, switched_in, fault, again; /* again: asleep again */
	__u64 older; /* of the wait: time that the ring of occupants no longer covers */
	__u64 others; /* of the wait: CPU time of occupants whose names did not fit */
	__u64 deferred; /* start of the interrupt that left the timer to a softirq */
	__u64 idle_since; /* of the interrupted CPU, if it was idle */
	__u64 called; /* when its CPU, which was idle, took the inter-processor interrupt of another one */
	__u64 next_timer; /* when the first timer after its own was served in the interrupt that woke it */
	__u64 stolen; /* steal time of its CPU since the previous sleep began, if it was the same CPU */
	__u64 rearmed; /* when the timer device was armed after the previous interrupt */
	__u32 tid, cpu, by, flags;
	__u32 since_state; /* the state it slept in */
	__u32 losses; /* how many; the first ones are listed */
	__u32 stopper; /* sender of the most recent stop signal */
	__u32 occupants, stretches; /* how many there are; without stretches, only those occupants follow */
	__u32 slept_in; /* the system call that it slept in */
	char by_comm[16], stopper_comm[16];
	struct loss loss[LOSSES];
	struct occupant occupant[OCCUPANTS];
	struct stretch stretch[STRETCHES];
};

enum happened { BORN, NAMED, ENDED };

/* A watched thread starts, is renamed or ends; with its scheduling policy. */
struct life {
	__u64 at, slack;
	__u32 tid, process, what;
	__u32 policy, priority;
	__s32 nice;
	char comm[16];
};

#define FRAMES 28 /* so that an iteration is shorter than a sleep */

/* From the return of a call in which an event loop waits until the thread calls it again. The time in which it was neither
 * blocked nor ready, it ran. */
struct iteration {
	__u64 from, until;
	__u64 blocked, ready; /* asleep; ready, and waiting for a CPU */
	__u64 longest; /* the longest of its sleeps, */
	__u32 longest_in; /* and the call that it was in; ~0: none */
	__u32 tid, kind;
	__u32 on; /* the call's argument: of epoll, the file */
	__u32 frames, looked; /* frames of the program's stack that follow; whether it was sampled */
	__u64 frame[FRAMES]; /* the innermost first */
};

/* Data that was there when an answer was begun: what it asks for is not known to be one request. */
enum requests { ONE, MORE, HTTP2 };

/* Data arrived at a connection to a server; a thread took it up, and a thread began to send an answer. Shorter than a life. */
struct request {
	__u64 arrived, taken, answered; /* arrived: 0 where that was not seen */
	__u32 tid, reader; /* who answers, and who has read the data */
	__u32 family, port; /* of its own end; a socket of the Unix domain has no port */
	__u32 several; /* of `enum requests` */
	__u32 accepted; /* the connection was, as far as was seen; 0: it may be one that the program made itself */
};
