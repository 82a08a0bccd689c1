/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* In a guest: a CPU that does not run although a watched thread has it. */
#pragma once

#include "state.h"

/* A busy CPU takes an interrupt within this many nanoseconds: its tick. Set by user space before loading; without limit on bare metal. */
const volatile u64 silence = ~0ull;

/* Since `since`, when the last interrupt came, the CPU has not even taken its tick: the current thread did not have it all the
 * time. For how long it ran is not known. */
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
