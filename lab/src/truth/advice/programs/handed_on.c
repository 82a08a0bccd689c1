/* `sensor` wakes `filter` through a condition variable every 2 ms; `filter` is ordinary and late because of others. Cure: a
 * real-time class for `filter`, which is woken by nobody's timer but that of `sensor`. */
#include "witness.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t come = PTHREAD_COND_INITIALIZER;
static long posted;

static void *sense(void *unused)
{
	name_thread("sensor");
	real_time(80);
	for (long due = now() + 2 * MILLI;; due += 2 * MILLI) {
		sleep_until(due);
		pthread_mutex_lock(&mutex);
		posted = now();
		pthread_cond_signal(&come);
		pthread_mutex_unlock(&mutex);
	}
	return unused;
}

int main(void)
{
	witness_begin();
	started(sense, NULL);
	name_thread("filter");
	if (fixed("rt"))
		real_time(as_told(70));
	while (witness_goes_on()) {
		pthread_mutex_lock(&mutex);
		while (!posted)
			pthread_cond_wait(&come, &mutex);
		long since = posted;
		posted = 0;
		pthread_mutex_unlock(&mutex);
		work(100);
		witness_late(now() - since, 2 * MILLI);
	}
	witness_end();
}
