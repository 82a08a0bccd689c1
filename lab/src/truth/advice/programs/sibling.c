/* `control` has a turn of 1 ms; three siblings `cruncher` compute all the time on its CPU. `sibling [same]` gives all one name.
 * Cure: a real-time class for the thread `control` alone. For the whole program it changes nothing or harms. */
#include "witness.h"

static const char *crunchers = "cruncher";

static void *crunch(void *unused)
{
	/* What is advised for one thread is for none of these, whatever their name. */
	prctl(PR_SET_NAME, crunchers);
	for (;;)
		work(1000);
	return unused;
}

int main(int count, char **words)
{
	witness_begin();
	if (count > 1 && !strcmp(words[1], "same"))
		crunchers = "control";
	for (int i = 0; i < 3; i++)
		started(crunch, NULL);
	name_thread("control");
	if (fixed("rt"))
		real_time(as_told(80));
	for (long due = now() + MILLI; witness_goes_on(); due += MILLI) {
		sleep_until(due);
		work(60);
		witness_late(now() - due, MILLI);
	}
	witness_end();
}
