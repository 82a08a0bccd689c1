/* What contends with a program: `hog THREADS WORK_US SLEEP_US [PRIORITY]`, SCHED_FIFO where there is a priority; SLEEP_US 0
 * never sleeps. It ends after two minutes, whoever forgets it. */
#include "witness.h"

static long work_us, sleep_us;

static void *contend(void *unused)
{
	for (;;) {
		work(work_us);
		if (sleep_us)
			sleep_for(sleep_us);
	}
	return unused;
}

int main(int count, char **words)
{
	if (count < 4)
		return 2;
	work_us = atol(words[2]);
	sleep_us = atol(words[3]);
	witness_begin();
	alarm(120);
	if (count > 4) {
		struct sched_param parameter = { .sched_priority = atoi(words[4]) };
		sched_setscheduler(0, SCHED_FIFO, &parameter);
	}
	for (int i = 1; i < atoi(words[1]); i++)
		started(contend, NULL);
	contend(NULL);
}
