/* Priority inversion: `high` (SCHED_FIFO 80) waits for a mutex that `low` (ordinary) has for 300 us of work; `middle` (SCHED_FIFO
 * 40) takes the CPU from `low` for 8 ms. Cure: priority inheritance. More priority for anybody changes nothing. */
#include "witness.h"

static pthread_mutex_t mutex;

static void *low(void *unused)
{
	name_thread("low");
	for (;;) {
		pthread_mutex_lock(&mutex);
		work(300);
		pthread_mutex_unlock(&mutex);
		sleep_for(700);
	}
	return unused;
}

static void *middle(void *unused)
{
	name_thread("middle");
	real_time(40);
	for (;;) {
		sleep_for(13000);
		work(8000);
	}
	return unused;
}

int main(void)
{
	witness_begin();
	mutex_begin(&mutex, fixed("inherit"));
	started(low, NULL);
	started(middle, NULL);
	name_thread("high");
	real_time(80);
	for (long due = now() + 5 * MILLI; witness_goes_on(); due += 5 * MILLI) {
		sleep_until(due);
		pthread_mutex_lock(&mutex);
		work(50);
		pthread_mutex_unlock(&mutex);
		witness_late(now() - due, 5 * MILLI);
	}
	witness_end();
}
