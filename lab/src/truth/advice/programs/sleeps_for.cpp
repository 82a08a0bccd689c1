// Meant for 100 Hz: std::this_thread::sleep_for for 10 ms after each 1 ms of work, so that turns take 11.1 ms. Cure: sleep_until.
#include "witness.h"
#include <chrono>
#include <thread>

int main()
{
	using clock = std::chrono::steady_clock;
	const auto period = std::chrono::milliseconds(10);
	witness_begin();
	long begun = now(), turn = 0;
	auto due = clock::now();
	while (witness_goes_on()) {
		witness_late(now() - (begun + turn++ * 10 * MILLI), 10 * MILLI);
		work(1000);
		if (fixed("until"))
			std::this_thread::sleep_until(due += period);
		else
			std::this_thread::sleep_for(period);
	}
	witness_end();
}
