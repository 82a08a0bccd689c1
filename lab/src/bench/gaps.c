/* What `howlate gaps` is held against.
 *
 *   gaps loop CPU SECONDS    reads the counter and compares, nothing else; prints nanoseconds per turn without its gaps
 *   gaps hog CPU TIMES US    at real-time priority, takes the CPU for so many microseconds of ten times as many; prints how often,
 *                            for how many nanoseconds of CPU time, and both by its stamps of those times in which nobody came
 *                            between
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum { GAP = 1000, LATE = 100000 };

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t nanoseconds(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

static uint64_t cpu_time(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

static uint64_t ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t count;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
#else
    return nanoseconds();
#endif
}

static void loop(double seconds)
{
    uint64_t began = nanoseconds(), first = ticks();
    struct timespec pause = { 0, 50000000 };
    nanosleep(&pause, NULL);
    double per_tick = (double)(nanoseconds() - began) / (double)(ticks() - first);
    uint64_t above = (uint64_t)(GAP / per_tick), ends = ticks() + (uint64_t)(seconds * 1e9 / per_tick);
    uint64_t turns = 0, gaps = 0, taken = 0, start = ticks(), last = start;
    while (last < ends) {
        uint64_t now = ticks(), passed = now - last;
        if (passed >= above) {
            gaps++;
            taken += passed;
        }
        last = now;
        turns++;
    }
    printf("%.3f\n", (double)(last - start - taken) * per_tick / (double)(turns - gaps));
}

static void hog(long times, uint64_t length)
{
    uint64_t sum = 0, whole = 0, late = 0, taken = 0, next = nanoseconds();
    struct sched_param priority = { .sched_priority = 50 };
    if (sched_setscheduler(0, SCHED_FIFO, &priority))
        perror("sched_setscheduler");
    prctl(PR_SET_NAME, "gaps-hog");
    for (long number = 0; number < times; number++) {
        next += 10 * length;
        struct timespec until = { (time_t)(next / 1000000000u), (long)(next % 1000000000u) };
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        uint64_t ran = cpu_time(), from = nanoseconds(), now = from;
        while (now - from < length)
            now = nanoseconds();
        taken += cpu_time() - ran;
        if (from - next > LATE) {
            late++; /* others had the CPU until now: what they began goes on */
        } else if (now - from < length + length / 10) {
            whole++;
            sum += now - from;
        }
    }
    printf("%ld %llu %llu %llu %llu\n", times, (unsigned long long)taken, (unsigned long long)late,
           (unsigned long long)whole, (unsigned long long)sum);
}

int main(int count, char **words)
{
    if (count < 4)
        return 2;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(atoi(words[2]), &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus)) {
        perror("sched_setaffinity");
        return 1;
    }
    if (!strcmp(words[1], "loop"))
        loop(atof(words[3]));
    else if (count == 5)
        hog(atol(words[3]), 1000u * strtoul(words[4], NULL, 10));
    return 0;
}
