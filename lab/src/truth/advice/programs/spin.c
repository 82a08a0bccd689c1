/* Three threads that compute and never sleep, and a main thread that looks at them every 20 ms. Nothing is to be done; least of all
 * a real-time class, with which they would have the CPU of everybody else. */
#include "witness.h"

static void *compute(void *unused)
{
	name_thread("compute");
	for (;;)
		work(1000);
	return unused;
}

int main(void)
{
	witness_begin();
	for (int i = 0; i < 3; i++)
		started(compute, NULL);
	for (long due = now() + 20 * MILLI; witness_goes_on(); due += 20 * MILLI) {
		sleep_until(due);
		witness_late(now() - due, 20 * MILLI);
	}
	witness_end();
}
