/* Two different loops: `servo` is SCHED_FIFO 80, `logger` is ordinary and late because of others. That `servo` is better is no trial
 * of anything. Cure: a real-time class or a nice value for `logger`. */
#include "witness.h"

static void *servo(void *unused)
{
	name_thread("servo");
	real_time(80);
	for (long due = now() + MILLI;; due += MILLI) {
		sleep_until(due);
		work(50);
	}
	return unused;
}

int main(void)
{
	witness_begin();
	started(servo, NULL);
	name_thread("logger");
	if (fixed("rt"))
		real_time(as_told(70));
	for (long due = now() + 4 * MILLI; witness_goes_on(); due += 4 * MILLI) {
		sleep_until(due);
		work(200);
		witness_late(now() - due, 4 * MILLI);
	}
	witness_end();
}
