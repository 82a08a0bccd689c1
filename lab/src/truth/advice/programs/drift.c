/* Meant for 1 kHz, sleeps for what is left of 1 ms: each lateness moves all later turns. Cure: sleep until a time. The lateness is
 * that against the times that it was meant for. */
#include "witness.h"

int main(void)
{
	witness_begin();
	name_thread("control");
	long begun = now(), turn = 0;
	while (witness_goes_on()) {
		long from = now(), due = begun + ++turn * MILLI;
		witness_late(from - due, MILLI);
		work(100);
		if (fixed("until"))
			sleep_until(due);
		else
			sleep_for((MILLI - (now() - from)) / 1000);
	}
	witness_end();
}
