/* `control` has a turn of 2 ms and takes a mutex; `planner` computes, and publishes for 300 us under the same mutex; two threads
 * `backlog` compute. `control` is SCHED_FIFO 80 from the start, so that what is left is that `planner` loses the CPU to
 * `backlog` while it has the mutex. Cure: priority inheritance. */
#include "witness.h"

static pthread_mutex_t mutex;

static void *plan(void *unused)
{
	name_thread("planner");
	for (;;) {
		work(500);
		pthread_mutex_lock(&mutex);
		work(300);
		pthread_mutex_unlock(&mutex);
		sleep_for(500);
	}
	return unused;
}

static void *compute(void *unused)
{
	name_thread("backlog");
	for (;;)
		work(1000);
	return unused;
}

int main(void)
{
	witness_begin();
	mutex_begin(&mutex, fixed("inherit"));
	started(plan, NULL);
	started(compute, NULL);
	started(compute, NULL);
	name_thread("control");
	real_time(80);
	for (long due = now() + 2 * MILLI; witness_goes_on(); due += 2 * MILLI) {
		sleep_until(due);
		pthread_mutex_lock(&mutex);
		work(50);
		pthread_mutex_unlock(&mutex);
		witness_late(now() - due, 2 * MILLI);
	}
	witness_end();
}
