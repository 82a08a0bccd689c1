/* A loop of 1 kHz as programs have them, by a timerfd: prints when it ran and how long after the expiry, in ns.
 * Argument: the CPU it runs on. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { PERIOD = 1000000, SECOND = 1000000000 };

static int64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * SECOND + now.tv_nsec;
}

int main(int count, char **arguments)
{
    struct sched_param priority = { .sched_priority = 80 };
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(count > 1 ? atoi(arguments[1]) : 0, &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) || sched_setscheduler(0, SCHED_FIFO, &priority)) {
        perror("timer");
        return 1;
    }
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    int64_t due = nanoseconds() + PERIOD;
    struct itimerspec each = {
        .it_value = { due / SECOND, due % SECOND },
        .it_interval = { 0, PERIOD },
    };
    if (timer < 0 || timerfd_settime(timer, TFD_TIMER_ABSTIME, &each, NULL)) {
        perror("timer");
        return 1;
    }
    due -= PERIOD;
    setvbuf(stdout, NULL, _IOLBF, 0);
    uint64_t expired;
    while (read(timer, &expired, sizeof expired) == sizeof expired) {
        int64_t now = nanoseconds();
        due += PERIOD * (int64_t)expired;
        if (printf("%lld %lld\n", (long long)now, (long long)(now - due)) < 0)
            break;
    }
    return 0;
}
