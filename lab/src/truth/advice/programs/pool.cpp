// Eight workers take jobs of 4 ms from a queue that is never empty; the thread `ui` has turns of 16 ms, and is late behind them.
// Cure: a real-time class or a lower nice value for `ui` alone.
#include "witness.h"
#include <thread>

static void take_jobs()
{
	name_thread("pool");
	for (;;)
		work(4000);
}

int main()
{
	witness_begin();
	for (int i = 0; i < 8; i++)
		std::thread(take_jobs).detach();
	name_thread("ui");
	if (fixed("rt"))
		real_time(as_told(20));
	for (long due = now() + 16 * MILLI; witness_goes_on(); due += 16 * MILLI) {
		sleep_until(due);
		work(500);
		witness_late(now() - due, 16 * MILLI);
	}
	witness_end();
}
