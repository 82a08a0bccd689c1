/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Occupants of the CPU while a watched thread, or its timer, waited: sums over the ring, backwards. */
#pragma once

#include "state.h"

struct walk {
	struct cpu *c;
	struct record *r;
	u64 hi, base, head;
	u32 before, pad;
};

/* Whether `e` is of the occupant in this slot; threads are distinguished by name, so that a thread pool takes one slot. */
static __always_inline int is_of(struct occupant *o, struct event *e, u32 before)
{
	u64 *name = (u64 *)e->comm, *other = (u64 *)o->comm;
	if ((o->kind & ~SEVERAL) != (e->kind | before))
		return 0;
	u32 is_thread = e->kind == THREAD || e->kind == URGENT || e->kind == LAZY;
	return o->id == e->id || (is_thread && name[0] && other[0] == name[0] && other[1] == name[1]);
}

/* Nanoseconds, as SILENCE in src/steal.rs: a longer one may be a guest that stood still. Without its place it would look like CPU time
 * of its occupant. */
#define LONG_STRETCH 11000000
#define ATTEMPTS 8 /* few of the places are of long ones, and each attempt is paid within a switch */

/* Where a long stretch takes the place of a shorter one. The attempts begin anywhere, so that not always the same ones are lost. */
static __always_inline u64 shorter(struct record *r, u64 from)
{
	u64 n = from >> 10;
	for (u32 i = 0; i < ATTEMPTS; i++) {
		n = (n + 1) % STRETCHES;
		OPAQUE(n);
		if (n >= STRETCHES)
			break;
		if (r->stretch[n].until - r->stretch[n].from < LONG_STRETCH)
			return n;
	}
	return STRETCHES;
}

/* Stretches from the last one backwards, as many as there is room for, and the long ones before. */
static __always_inline void list(struct record *r, u32 id, u32 who, u64 from, u64 until)
{
	u64 n = r->stretches;
	OPAQUE(n);
	if (n < STRETCHES)
		r->stretches = n + 1;
	else if (until - from >= LONG_STRETCH)
		n = shorter(r, from);
	else
		return;
	OPAQUE(n);
	if (n >= STRETCHES)
		return;
	struct stretch *s = &r->stretch[n];
	s->from = from;
	s->until = until;
	s->id = id;
	s->who = who;
}

VERIFIED_ONCE int credit(struct record *r, struct event *e, u32 before, u64 from, u64 until)
{
	if (!r || !e || from >= until)
		return 0;
	u64 n = r->occupants, ns = until - from;
	u32 waited = before << WAITED_BITS;
	for (u64 j = 0; j < OCCUPANTS; j++) {
		OPAQUE(j);
		if (j >= n)
			break;
		struct occupant *o = &r->occupant[j];
		if (is_of(o, e, before)) {
			o->ns += ns;
			if (o->id != e->id)
				o->kind |= SEVERAL;
			list(r, e->id, j | waited, from, until);
			return 0;
		}
	}
	OPAQUE(n);
	if (n < OCCUPANTS) {
		struct occupant *o = &r->occupant[n];
		o->ns = ns;
		o->id = e->id;
		o->kind = e->kind | before;
		copy(o->comm, e->comm);
		r->occupants = n + 1;
		list(r, e->id, n | waited, from, until);
		return 0;
	}
	if (!before)
		r->others += ns;
	list(r, e->id, NAMELESS | waited, from, until);
	return 0;
}

/* From the switch backwards: stretches telescope to exactly the wait. */
static long step(u32 i, struct walk *w)
{
	struct event *e = &w->c->ring[(w->head - 1 - i) & MASK], *b = &w->c->ring[(w->head - 2 - i) & MASK];
	u64 lo, hi = w->hi;
	if (e->until <= w->base)
		return 1;
	lo = b->until > w->base && b->until < hi ? b->until : w->base;
	w->hi = lo;
	credit(w->r, e, w->before, lo, hi);
	return lo <= w->base;
}

/* Occupants of `c` from `base` until `now`; `rest` is the occupant after the last event of the ring at `head`. Returns the time
 * that the ring no longer covers. */
static __always_inline u64 had(struct walk *w, u64 now, struct event *rest)
{
	u64 last = w->c->ring[(w->head - 1) & MASK].until;
	w->hi = last < w->base ? w->base : last < now ? last : now;
	credit(w->r, rest, w->before, w->hi, now);
	u64 since = w->c->head - w->head;
	if (w->hi > w->base && since < RING - 2)
		bpf_loop(RING - 2 - since, step, w, 0);
	return w->hi > w->base ? w->hi - w->base : 0;
}

/* Most threads wait for one occupant only, or for none: then nothing has to be summed. */
static __always_inline int waited_for_one(struct cpu *c, u64 head, u64 base, struct record *r)
{
	struct event *e = &c->ring[(head - 1) & MASK], *b = &c->ring[(head - 2) & MASK];
	struct occupant *o = &r->occupant[0];
	if (b->until > base || r->occupants || e->until <= base)
		return 0;
	o->ns = r->switched_in - base;
	o->id = e->id;
	o->kind = e->kind;
	copy(o->comm, e->comm);
	r->occupants = 1;
	return 1;
}

/* Start of its wait for `c`, which has that number: the end of the interrupt that woke it there. If the ring no longer covers
 * that, the wake-up: the rest of the interrupt is then an occupant like any other. */
static __always_inline void interrupt_over(struct cpu *c, struct thread *s, u32 cpu)
{
	struct record *r = &s->record;
	if (!s->in_interrupt || s->woken_on != cpu || s->pulled || c->over - s->interrupt - 1 >= KEPT)
		return;
	r->runnable = c->end[s->interrupt & (KEPT - 1)];
	if (c->wakes - s->wake < KEPT)
		r->next_timer = c->next_timer[s->wake & (KEPT - 1)];
}

/* Occupants of this CPU while the thread waited for it. */
static __always_inline void sum_up(struct thread *s)
{
	struct record *r = &s->record;
	struct cpu *c = on(r->cpu);
	u64 base = s->pulled ?: r->runnable;
	if (!c || !r->switched_in)
		return;
	u64 since = c->head - s->head;
	if (since < RING - 2 && waited_for_one(c, s->head, base, r))
		return;
	struct walk w = { c, r, r->switched_in, base, s->head, 0, 0 };
	if (since < RING - 2)
		bpf_loop(RING - 2 - since, step, &w, 0);
	if (w.hi > base)
		r->older += w.hi - base;
}

/* It waited for `c`, and is pulled away: the occupants up to now. The current thread is the one after the last event of the ring. */
VERIFIED_ONCE int waited_for(struct cpu *c, struct thread *s, u64 now)
{
	if (!c || !s)
		return 0;
	struct record *r = &s->record;
	interrupt_over(c, s, s->cpu);
	struct event rest = { .id = c->current, .kind = c->ahead == RUNS_AHEAD ? SERVER : THREAD };
	struct walk w = { c, r, 0, s->pulled ?: r->runnable, c->head, 0, 0 };
	if (w.base < now)
		r->older += had(&w, now, &rest);
	return 0;
}

/* Its timer waited for the softirq: the occupants until it was served. */
VERIFIED_ONCE int timer_waited(struct thread *s)
{
	if (!s)
		return 0;
	struct record *r = &s->record;
	struct cpu *c = on(s->woken_on);
	struct event rest = { .id = HRTIMER, .kind = SOFTIRQ };
	if (!c)
		return 0;
	struct walk w = { c, r, 0, r->deferred > r->soft ? r->deferred : r->soft, s->served_head, BEFORE, 0 };
	if (w.base < r->served)
		had(&w, r->served, &rest);
	return 0;
}
