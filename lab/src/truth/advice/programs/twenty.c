/* Twenty threads with turns of 10 ms and little work, late because of others outside. `twenty computing`: six more compute, and are
 * what makes them late. Cures: real-time classes for the twenty; with `computing` never for the whole program. */
#include "witness.h"

static void *turn(void *number)
{
	char name[16];
	snprintf(name, sizeof(name), "axis %ld", (long)number);
	name_thread(name);
	if (fixed("rt"))
		real_time(as_told(60));
	int counts = is_witnessed((long)number == 7);
	for (long due = now() + 10 * MILLI; witness_goes_on(); due += 10 * MILLI) {
		sleep_until(due);
		work(60);
		if (counts)
			witness_late(now() - due, 10 * MILLI);
	}
	return NULL;
}

static void *compute(void *unused)
{
	name_thread("compute");
	for (;;)
		work(1000);
	return unused;
}

int main(int count, char **words)
{
	pthread_t axes[20];
	witness_begin();
	for (long i = 0; count > 1 && !strcmp(words[1], "computing") && i < 6; i++)
		started(compute, NULL);
	for (long i = 0; i < 20; i++)
		axes[i] = started(turn, (void *)i);
	for (int i = 0; i < 20; i++)
		pthread_join(axes[i], NULL);
	witness_end();
}
