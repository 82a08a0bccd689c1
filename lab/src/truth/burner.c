/* A program that uses a CPU, and says what it got of it.
 *
 *   burner SECONDS BUSY_US REST_US [fifo=N] [cpu=N] [after=PID] [stat=FILE]
 *
 * It computes for BUSY_US of the clock and sleeps for REST_US, in turns; without a rest it never sleeps. Each stretch in which it
 * read the clock again within 200 us is printed: when it began and ended, in ns of CLOCK_MONOTONIC, and how long its group was
 * kept from running before it, by the group's own cpu.stat, in ns. `after` takes the CPU of that thread, after each rest.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define GAP 200000L
#define MOST 200000

struct stretch {
	long from, until, throttled;
};

static struct stretch stretches[MOST];
static int used;
static int stat_file = -1;

static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static const char *option(int count, char **words, const char *name)
{
	size_t length = strlen(name);
	for (int i = 4; i < count; i++)
		if (!strncmp(words[i], name, length) && words[i][length] == '=')
			return words[i] + length + 1;
	return NULL;
}

/* In the words of either version of control groups. */
static long throttled(void)
{
	char text[512];
	ssize_t length = stat_file < 0 ? 0 : pread(stat_file, text, sizeof(text) - 1, 0);
	if (length <= 0)
		return 0;
	text[length] = 0;
	char *usec = strstr(text, "throttled_usec "), *nsec = strstr(text, "throttled_time ");
	return usec ? atol(usec + 15) * 1000 : nsec ? atol(nsec + 15) : 0;
}

static void begin(long at, long kept)
{
	if (used < MOST)
		stretches[used++] = (struct stretch){ at, at, kept };
}

/* Binds itself to the CPU on which that thread is: field 39 of proc_pid_stat(5). */
static int follow(const char *pid)
{
	char name[64], text[1024];
	snprintf(name, sizeof(name), "/proc/%s/stat", pid);
	FILE *file = fopen(name, "r");
	size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	if (file)
		fclose(file);
	text[length] = 0;
	char *at = strrchr(text, ')');
	for (int field = 2; at && field < 39; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return -1;
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(atoi(at), &one);
	return sched_setaffinity(0, sizeof(one), &one);
}

int main(int count, char **words)
{
	if (count < 4)
		return 2;
	long seconds = atol(words[1]), busy = atol(words[2]) * 1000, rest = atol(words[3]) * 1000;
	const char *fifo = option(count, words, "fifo"), *cpu = option(count, words, "cpu");
	const char *stat = option(count, words, "stat"), *after = option(count, words, "after");
	cpu_set_t one;
	CPU_ZERO(&one);
	if (cpu)
		CPU_SET(atoi(cpu), &one);
	if (cpu && sched_setaffinity(0, sizeof(one), &one))
		return 3;
	struct sched_param priority = { .sched_priority = fifo ? atoi(fifo) : 0 };
	if (fifo && sched_setscheduler(0, SCHED_FIFO, &priority))
		return 3;
	if (stat)
		stat_file = open(stat, O_RDONLY);
	memset(stretches, 1, sizeof(stretches));
	long last = now(), end = last + seconds * 1000000000L, kept = throttled(), began = last;
	begin(last, 0);
	while (last < end && used < MOST) {
		long at = now();
		if (at - last > GAP) {
			long more = throttled();
			begin(at, more - kept);
			kept = more;
			at = now();
		}
		stretches[used - 1].until = last = at;
		if (rest && at - began >= busy) {
			struct timespec pause = { .tv_sec = rest / 1000000000L, .tv_nsec = rest % 1000000000L };
			nanosleep(&pause, NULL);
			/* It may have ended. */
			if (after)
				follow(after);
			began = last = now();
			begin(last, 0);
		}
	}
	for (int i = 0; i < used; i++)
		printf("%ld %ld %ld\n", stretches[i].from, stretches[i].until, stretches[i].throttled);
	return 0;
}
