/* What the programs beside this file have in common: their own stamps, and the one line that they print at their end:
 *
 *   witness {"done":300,"over":12,"mean":81.2,"p50":70.1,"p99":310.0,"max":2400.0}
 *
 * in microseconds. Environment: WITNESS_CPU binds the program to a CPU, WITNESS_FIX names the cure that it takes (`fixed`),
 * WITNESS_THREAD for which of its threads, WITNESS_OF whose lateness counts, with and without it, WITNESS_VALUE the number that the
 * advice has in it, WITNESS_SECONDS is how long it counts, after a second that it does not count, in which others may change its
 * threads.
 */
#ifndef WITNESS_H
#define WITNESS_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MILLI 1000000L
#define MOST_STAMPS 400000

static long witness_from, witness_until;
static double *witness_stamps;
static long witness_done, witness_over;

static inline long clock_ns(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static inline long now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* CPU time, so that whoever is kept from the CPU takes longer. */
static inline void work(long us)
{
	long until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + us * 1000;
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		;
}

static inline void sleep_until(long due)
{
	struct timespec t;
	t.tv_sec = due / 1000000000L;
	t.tv_nsec = due % 1000000000L;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static inline void sleep_for(long us)
{
	struct timespec t;
	t.tv_sec = us / 1000000;
	t.tv_nsec = us % 1000000 * 1000;
	nanosleep(&t, NULL);
}

/* Whether the program is to take this cure; where a real-time class is for one thread by its name, that one takes it. */
static inline int fixed(const char *cure)
{
	const char *fix = getenv("WITNESS_FIX");
	return fix && !strcmp(fix, cure) && (strcmp(cure, "rt") || !getenv("WITNESS_THREAD"));
}

/* The number that the advice has in it. */
static inline int as_told(int otherwise)
{
	const char *value = getenv("WITNESS_VALUE");
	return value ? atoi(value) : otherwise;
}

/* Whether the calling thread is the one for which the real-time class is. */
static inline int is_chosen(void)
{
	char name[16] = "";
	const char *fix = getenv("WITNESS_FIX"), *chosen = getenv("WITNESS_THREAD");
	prctl(PR_GET_NAME, name);
	return fix && chosen && !strcmp(fix, "rt") && !strcmp(name, chosen);
}

/* Whether the lateness of the calling thread is what counts: of several alike, that of the one for which something is advised. */
static inline int is_witnessed(int otherwise)
{
	char name[16] = "";
	const char *of = getenv("WITNESS_OF");
	prctl(PR_GET_NAME, name);
	return of ? !strcmp(name, of) : otherwise;
}

/* Whether its holder has the priority of who waits for it meanwhile. */
static inline void mutex_begin(pthread_mutex_t *mutex, int inherits)
{
	pthread_mutexattr_t attributes;
	pthread_mutexattr_init(&attributes);
	if (inherits)
		pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(mutex, &attributes);
}

/* The calling thread alone; what it starts is ordinary again. */
static inline void real_time(int priority)
{
	struct sched_param parameter;
	parameter.sched_priority = is_chosen() ? as_told(80) : priority;
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameter))
		perror("sched_setscheduler");
}

static inline void name_thread(const char *name)
{
	prctl(PR_SET_NAME, name);
	if (is_chosen())
		real_time(80);
}

static inline pthread_t started(void *(*what)(void *), void *with)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, what, with))
		exit(3);
	return thread;
}

static inline void witness_begin(void)
{
	const char *cpu = getenv("WITNESS_CPU"), *seconds = getenv("WITNESS_SECONDS");
	if (cpu) {
		cpu_set_t set;
		CPU_ZERO(&set);
		CPU_SET(atoi(cpu), &set);
		sched_setaffinity(0, sizeof(set), &set);
	}
	if (is_chosen())
		real_time(80);
	witness_stamps = (double *)calloc(MOST_STAMPS, sizeof(double));
	memset(witness_stamps, 1, MOST_STAMPS * sizeof(double));
	witness_from = now() + 1000 * MILLI;
	witness_until = witness_from + (long)((seconds ? atof(seconds) : 3) * 1e9);
}

static inline int witness_goes_on(void)
{
	return now() < witness_until;
}

/* One result, so much later than it was due; of one thread only. `limit`: from when on it is over, nanoseconds. */
static inline void witness_late(long ns, long limit)
{
	if (now() < witness_from || witness_done >= MOST_STAMPS)
		return;
	witness_stamps[witness_done++] = ns / 1e3;
	witness_over += ns > limit;
}

static int witness_order(const void *one, const void *other)
{
	double a = *(const double *)one, b = *(const double *)other;
	return (a > b) - (a < b);
}

/* Prints the line, and ends the program whatever its threads do. */
static inline void witness_end(void)
{
	double sum = 0, *all = witness_stamps;
	long n = witness_done;
	qsort(all, n, sizeof(double), witness_order);
	for (long i = 0; i < n; i++)
		sum += all[i];
	printf("witness {\"done\":%ld,\"over\":%ld,\"mean\":%.1f,\"p50\":%.1f,\"p99\":%.1f,\"max\":%.1f}\n", n, witness_over,
	       n ? sum / n : 0, n ? all[n / 2] : 0, n ? all[n * 99 / 100] : 0, n ? all[n - 1] : 0);
	fflush(stdout);
	_exit(0);
}
#endif
