/* A program that sleeps until one time after another, and stamps its own wake-ups.
 *
 *   sleeper PERIOD_US COUNT [slack] [mlockall] [pages] [work_us=N]
 *
 * Prints for each wake-up when it was due and when it read the clock, in ns of CLOCK_MONOTONIC.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define PAGES 64
#define PAGE 4096

static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static struct timespec span(long ns)
{
	return (struct timespec){ .tv_sec = ns / 1000000000L, .tv_nsec = ns % 1000000000L };
}

static volatile char *pages;

/* What a machine short of memory does: it takes pages of a file that nobody has locked. */
static void *take_pages(void *unused)
{
	struct timespec pause = span(500000);
	for (;;) {
		madvise((void *)pages, PAGES * PAGE, MADV_PAGEOUT);
		nanosleep(&pause, NULL);
	}
	return unused;
}

static void map_pages(void)
{
	FILE *file = tmpfile();
	pthread_t taker;
	if (!file || ftruncate(fileno(file), PAGES * PAGE))
		exit(3);
	pages = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_SHARED, fileno(file), 0);
	if (pages == MAP_FAILED || pthread_create(&taker, NULL, take_pages, NULL))
		exit(3);
}

/* Whether an option is given; its number, where it has one. */
static long option(int count, char **words, const char *name)
{
	size_t length = strlen(name);
	for (int i = 3; i < count; i++)
		if (!strncmp(words[i], name, length))
			return words[i][length] == '=' ? atol(words[i] + length + 1) : 1;
	return 0;
}

struct stamp {
	long due, ran;
};

int main(int count, char **words)
{
	if (count < 3)
		return 2;
	long period = atol(words[1]) * 1000, wakeups = atol(words[2]);
	long work = option(count, words, "work_us") * 1000;
	if (option(count, words, "slack"))
		prctl(PR_SET_TIMERSLACK, 1L, 0, 0, 0);
	if (option(count, words, "pages"))
		map_pages();
	if (option(count, words, "mlockall") && mlockall(MCL_CURRENT | MCL_FUTURE))
		return 3;
	struct stamp *stamps = calloc(wakeups, sizeof(*stamps));
	memset(stamps, 1, wakeups * sizeof(*stamps));
	long due = now() + 2 * period;
	for (long i = 0; i < wakeups; i++) {
		struct timespec until = span(due);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		for (int page = 0; pages && page < PAGES; page++)
			(void)pages[page * PAGE];
		stamps[i].due = due;
		stamps[i].ran = now();
		while (now() < stamps[i].ran + work)
			;
		due += period;
		/* A late one takes those with it that were due meanwhile. */
		while (due <= now())
			due += period;
	}
	for (long i = 0; i < wakeups; i++)
		printf("%ld %ld\n", stamps[i].due, stamps[i].ran);
	return 0;
}
