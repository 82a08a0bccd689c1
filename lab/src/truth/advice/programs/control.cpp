// A controller as people write it: 1 kHz, a std::mutex that `planner` has while it computes, a log with fsync each 100th turn.
// Cures: a real-time class for `control` alone, and a mutex with priority inheritance (`inherit` has both).
#include "witness.h"
#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

static pthread_mutex_t mutex;
static double trajectory[6];

static void plan()
{
	name_thread("planner");
	std::vector<double> values(100000, 1.0);
	for (;;) {
		double sum = 0;
		for (size_t i = 0; i < values.size(); i++)
			sum += std::sin(values[i] + i);
		pthread_mutex_lock(&mutex);
		for (double &one : trajectory)
			for (int i = 0; i < 8000; i++)
				one += std::sqrt(i + sum * sum) * 1e-9;
		pthread_mutex_unlock(&mutex);
	}
}

int main()
{
	pthread_mutexattr_t attributes;
	char place[] = "control.XXXXXX";
	int file = mkstemp(place);
	unlink(place);
	witness_begin();
	pthread_mutexattr_init(&attributes);
	if (fixed("inherit"))
		pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&mutex, &attributes);
	std::thread planner(plan);
	name_thread("control");
	if (fixed("inherit") || fixed("rt"))
		real_time(as_told(80));
	double position = 0;
	long turn = 0;
	for (long due = now() + MILLI; witness_goes_on(); due += MILLI) {
		sleep_until(due);
		pthread_mutex_lock(&mutex);
		for (double one : trajectory)
			position += one;
		pthread_mutex_unlock(&mutex);
		work(60);
		if (++turn % 100 == 0 && !fixed("other-thread")) {
			if (write(file, &position, sizeof(position)) > 0)
				fsync(file);
		}
		witness_late(now() - due, MILLI);
	}
	witness_end();
}
