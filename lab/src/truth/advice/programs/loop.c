/* One thread that sleeps until one time after another: `loop PERIOD_US WORK_US [fifo=PRIORITY] [slack=NS] [name=NAME] [rename]
 * [stopped-after=MS]`. Nothing is wrong with it: whatever makes it late is outside, or what its options do to it.
 * Cures: a real-time class (it is one thread) or a nice value below others', against others; slack=: its own call. */
#include "witness.h"

static long option(int count, char **words, const char *name)
{
	size_t length = strlen(name);
	for (int i = 3; i < count; i++)
		if (!strncmp(words[i], name, length))
			return words[i][length] == '=' ? atol(words[i] + length + 1) : 1;
	return 0;
}

int main(int count, char **words)
{
	if (count < 3)
		return 2;
	long period = atol(words[1]) * 1000, used = atol(words[2]);
	long slack = option(count, words, "slack"), priority = option(count, words, "fifo");
	int renames = option(count, words, "rename") != 0;
	witness_begin();
	for (int i = 3; i < count; i++)
		if (!strncmp(words[i], "name=", 5))
			name_thread(words[i] + 5);
	if (fixed("slack"))
		prctl(PR_SET_TIMERSLACK, 1L, 0, 0, 0);
	else if (slack)
		prctl(PR_SET_TIMERSLACK, slack, 0, 0, 0);
	if (fixed("rt"))
		real_time(as_told(80));
	else if (priority)
		real_time(priority);
	long due = now() + period, turn = 0;
	while (witness_goes_on()) {
		sleep_until(due);
		witness_late(now() - due, period);
		work(used);
		if (renames && ++turn % 200 == 0) {
			char name[32];
			snprintf(name, sizeof(name), "phase %ld", turn / 200);
			name_thread(name);
		}
		due += period;
	}
	witness_end();
}
