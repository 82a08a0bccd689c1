/* `planner` is SCHED_FIFO 60 and never sleeps; `servo`, SCHED_FIFO 40, waits until it is throttled with all of the real-time class,
 * and is late by whole periods. Cures: a priority of `servo` above `planner`; a planner that is not real-time. */
#include "witness.h"

static void *plan(void *unused)
{
	name_thread("planner");
	if (!fixed("ordinary"))
		real_time(60);
	for (;;)
		work(1000);
	return unused;
}

static void *serve(void *unused)
{
	name_thread("servo");
	real_time(fixed("rt") ? as_told(80) : 40);
	for (long due = now() + 5 * MILLI;; due += 5 * MILLI) {
		sleep_until(due);
		work(50);
		witness_late(now() - due, 5 * MILLI);
	}
	return unused;
}

/* Ordinary, so that it still gets what the class leaves, and can end the program. */
int main(void)
{
	witness_begin();
	started(plan, NULL);
	started(serve, NULL);
	while (witness_goes_on())
		sleep_for(20000);
	witness_end();
}
