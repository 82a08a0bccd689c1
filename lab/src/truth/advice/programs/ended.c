/* `early` has turns of 1 ms, is late because of others, and ends after 1.5 s: before anything can be done for it. `late` goes on
 * with turns of 10 ms. Advice for the id of `early` names a thread that is gone. */
#include "witness.h"

static void *early(void *unused)
{
	long until = now() + 1500 * MILLI;
	name_thread("early");
	for (long due = now() + MILLI; now() < until; due += MILLI) {
		sleep_until(due);
		work(20);
	}
	return unused;
}

int main(void)
{
	witness_begin();
	started(early, NULL);
	name_thread("late");
	if (fixed("rt"))
		real_time(as_told(80));
	for (long due = now() + 10 * MILLI; witness_goes_on(); due += 10 * MILLI) {
		sleep_until(due);
		witness_late(now() - due, 10 * MILLI);
	}
	witness_end();
}
