/* A control loop with three lines of howlate: a turn every millisecond, one in a hundred of which works for three.
 *
 *     cc -O2 -I loop loop/examples/control.c -o control
 *     howlate watch -- ./control 5
 */
#include "howlate.h"

#include <errno.h>
#include <stdio.h>

enum { PERIOD = 1000000, LONG_WORK = 3000000, USUAL_WORK = 100000 };

static uint64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void work_for(uint64_t length)
{
    uint64_t end = nanoseconds() + length;
    while (nanoseconds() < end)
        continue;
}

int main(int count, char **words)
{
    uint64_t turns = count > 1 ? strtoul(words[1], NULL, 10) * 1000 : 5000, turn, next = nanoseconds();
    struct howlate loop = howlate_loop("control", PERIOD);
    for (turn = 0; turn < turns; turn++) {
        struct timespec until;
        /* The next time of its rhythm; those that went by while it was at work are left out. */
        for (next += PERIOD; next <= nanoseconds() - PERIOD; next += PERIOD)
            continue;
        until.tv_sec = (time_t)(next / 1000000000u);
        until.tv_nsec = (long)(next % 1000000000u);
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
            continue;
        howlate_wake(&loop);
        work_for(turn % 100 == 50 ? LONG_WORK : USUAL_WORK);
        howlate_done(&loop);
    }
    printf("%lu turns\n", (unsigned long)turns);
    return 0;
}
