/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* In a guest: a CPU that does not run, though a watched thread has it. */
#pragma once

#include "state.h"

/* A CPU at work takes an interrupt within so many nanoseconds: its tick. User space says before loading; in no guest, for ever. */
const volatile u64 silence = ~0ull;

/* The thread that has this CPU has had it no more than the CPU has run since `since`, when an interrupt last came: not even the
 * tick did. For how much of that, nobody knows. */
VERIFIED_ONCE int stood_still(u64 since, u64 now)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct thread *s = p->pid && watched(p) ? known(p) : 0;
	if (!s || (s->stage != RUNS && s->stage != NEVER_LEFT) || s->lost)
		return 0;
	struct record *r = &s->record;
	u64 had = r->switched_in ?: r->waking, n = r->losses;
	OPAQUE(n);
	if (n && n <= LOSSES && r->loss[n - 1].until > had)
		had = r->loss[n - 1].until;
	if (had > since)
		since = had;
	if (now - since <= silence)
		return 0;
	r->losses++;
	if (n >= LOSSES)
		return 0;
	r->loss[n].from = since;
	r->loss[n].until = now;
	r->loss[n].kept_off = BY_OTHERS;
	return 0;
}

static __always_inline void comes(struct cpu *c, u64 now)
{
	u64 since = c->interrupt > c->handler_began ? c->interrupt : c->handler_began;
	if (since && now - since > silence)
		stood_still(since, now);
}
