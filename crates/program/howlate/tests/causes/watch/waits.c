/* Threads of one program that keep each other waiting, each in its own way: `waits WAY WITNESS`. All on CPU 0, whose longest time
 * without the most urgent thread, in nanoseconds, is written to the file WITNESS. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TURNS 300

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];

static int64_t now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* CPU time of the thread, however often others have its CPU meanwhile. */
static void work(int64_t micros)
{
	int64_t until = now(CLOCK_THREAD_CPUTIME_ID) + micros * 1000;
	while (now(CLOCK_THREAD_CPUTIME_ID) < until)
		;
}

static void sleep_for(int64_t micros)
{
	struct timespec t = { micros / 1000000, micros % 1000000 * 1000 };
	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

static void sleep_until(int64_t *next, int64_t micros)
{
	*next += micros * 1000;
	struct timespec t = { *next / 1000000000, *next % 1000000000 };
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void is_called(const char *name, int priority)
{
	struct sched_param p = { priority };
	pthread_setname_np(pthread_self(), name);
	if (priority)
		pthread_setschedparam(pthread_self(), SCHED_FIFO, &p);
}

static void *taker(void *x)
{
	for (is_called("taker", 50);; work(40000))
		sleep_for(200000);
	return x;
}

/* Nothing in the machine but what is below its kernel keeps this thread waiting for long. */
static void *witness(void *file)
{
	int64_t next = now(CLOCK_MONOTONIC), longest = 0;
	for (is_called("witness", 99);;) {
		sleep_until(&next, 10000);
		int64_t late = now(CLOCK_MONOTONIC) - next;
		if (late <= longest)
			continue;
		longest = late;
		FILE *to = fopen(file, "w");
		if (to && fprintf(to, "%lld", (long long)longest) > 0)
			fclose(to);
	}
	return NULL;
}

static void *low(void *x)
{
	for (is_called("low", 0);; sleep_for(1000)) {
		pthread_mutex_lock(&lock);
		work(1000);
		pthread_mutex_unlock(&lock);
	}
	return x;
}

static void *middle(void *x)
{
	for (is_called("middle", 40);; work(12000))
		sleep_for(30000);
	return x;
}

static void *reader(void *x)
{
	static char bytes[4096];
	for (is_called("reader", 0); read(ends[0], bytes, sizeof bytes) > 0;)
		sleep_for(1000);
	return x;
}

static void begin(void *(*of)(void *), void *with)
{
	pthread_t thread;
	pthread_create(&thread, NULL, of, with);
}

static void catches_up(void)
{
	begin(taker, NULL);
	is_called("victim", 10);
	int64_t next = now(CLOCK_MONOTONIC);
	for (int i = 0; i < TURNS; i++)
		sleep_until(&next, 5000);
}

static void locks(void)
{
	begin(low, NULL);
	begin(middle, NULL);
	is_called("victim", 80);
	int64_t next = now(CLOCK_MONOTONIC);
	for (int i = 0; i < TURNS; i++) {
		sleep_until(&next, 5000);
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
	}
}

static void writes(void)
{
	static char bytes[100000];
	if (pipe(ends))
		return;
	begin(reader, NULL);
	is_called("victim", 0);
	int64_t next = now(CLOCK_MONOTONIC);
	for (int i = 0; i < TURNS; i++) {
		sleep_until(&next, 5000);
		if (i % 40 == 20 && write(ends[1], bytes, sizeof bytes) < 0)
			return;
	}
}

static int has_a_deadline(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} wanted = { sizeof wanted, 6, 0, 0, 0, 2000000, 20000000, 20000000 };
	is_called("victim", 0);
	if (syscall(SYS_sched_setattr, 0, &wanted, 0))
		return 9;
	int64_t next = now(CLOCK_MONOTONIC);
	for (int i = 0; i < TURNS / 3; i++) {
		sleep_until(&next, 20000);
		work(i % 10 == 5 ? 5000 : 200);
	}
	return 0;
}

static void drifts(void)
{
	is_called("victim", 0);
	for (int i = 0; i < 3 * TURNS; i++)
		sleep_for(1000);
}

int main(int count, char **words)
{
	const char *way = count > 1 ? words[1] : "";
	cpu_set_t cpus;
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	if (!strcmp(way, "deadline")) /* which takes all CPUs */
		return has_a_deadline();
	sched_setaffinity(0, sizeof cpus, &cpus);
	if (count > 2)
		begin(witness, words[2]);
	if (!strcmp(way, "catch-up"))
		catches_up();
	else if (!strcmp(way, "lock"))
		locks();
	else if (!strcmp(way, "write"))
		writes();
	else
		drifts();
	_exit(0);
}
