/* `servo` (SCHED_FIFO 30) has a turn of 5 ms without work; `taker` (SCHED_FIFO 50) has its CPU for 60 ms twice a second, and then
 * `servo` catches up twelve turns. Cure: a priority of `servo` above 50. */
#include "witness.h"

static void *take(void *unused)
{
	name_thread("taker");
	real_time(50);
	for (;;) {
		sleep_for(440000);
		work(60000);
	}
	return unused;
}

int main(void)
{
	witness_begin();
	started(take, NULL);
	name_thread("servo");
	real_time(fixed("rt") ? as_told(80) : 30);
	for (long due = now() + 5 * MILLI; witness_goes_on(); due += 5 * MILLI) {
		sleep_until(due);
		witness_late(now() - due, 5 * MILLI);
	}
	witness_end();
}
