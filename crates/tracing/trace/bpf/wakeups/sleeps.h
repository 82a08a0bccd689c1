/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The record of a sleep, which is sent when the next one begins; and the count of threads that wait for a CPU. */
#pragma once

#include "waiting.h"

/* Whether its stretches are sent: there is room for many, or for some and the wait is one of the thread's longest recent ones. */
static __always_inline u32 in_order(struct thread *s)
{
	struct record *r = &s->record;
	u64 waited = r->switched_in > r->waking ? r->switched_in - r->waking : 0, longest = s->longest;
	s->longest = waited > longest ? waited : longest - longest / FORGETS;
	if (r->stretches < 2)
		return 0; /* of one stretch, its occupant tells all */
	u64 unread = bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA);
	return unread < RECORDS / 8 || (unread < RECORDS / 2 && waited >= longest / 2);
}

/* Length of the record that is sent. */
static __always_inline u64 length(struct thread *s)
{
	struct record *r = &s->record;
	u64 n = r->stretches;
	if (in_order(s)) {
		OPAQUE(n);
		if (n > STRETCHES)
			n = STRETCHES;
		OPAQUE(n);
		return __builtin_offsetof(struct record, stretch) + n * sizeof(struct stretch);
	}
	r->stretches = 0;
	n = r->occupants;
	OPAQUE(n);
	if (n > OCCUPANTS)
		n = OCCUPANTS;
	OPAQUE(n);
	return __builtin_offsetof(struct record, occupant) + n * sizeof(struct occupant);
}

/* The thread goes to sleep: send the record of its last sleep, and begin the next. */
VERIFIED_ONCE int send(struct thread *s, u64 now, u32 state)
{
	if (!s)
		return 0;
	struct record *r = &s->record;
	if (s->stage != ASLEEP) {
		sum_up(s);
		if (r->deferred)
			timer_waited(s);
		r->again = now;
		u64 size = length(s);
		if (bpf_ringbuf_output(&records, r, size, BPF_RB_NO_WAKEUP))
			__sync_fetch_and_add(&told.lost, 1);
	}
	s->stage = ASLEEP;
	s->lost = 0;
	r->since = now;
	r->since_state = state;
	r->slept_in = s->loop.sees_calls ? s->loop.in : UNSEEN_CALL;
	return 0;
}

/* Events after its wake-up. */
static __always_inline void begins_anew(struct thread *s)
{
	struct record *r = &s->record;
	r->switched_in = r->fault = r->called = r->next_timer = s->pulled = r->older = r->others = 0;
	r->losses = r->occupants = r->stretches = 0;
}

static __always_inline void stops_waiting(struct thread *s)
{
	struct cpu *c = on(s->cpu);
	if (c && c->waiting)
		__sync_fetch_and_sub(&c->waiting, 1);
}

static __always_inline void waits_for(struct cpu *c)
{
	c->called = 0;
	__sync_fetch_and_add(&c->waiting, 1);
}
