/* A loop whose turns are due every 50 ms, one of which plans for three periods; and a request for what all CPUs did then.
 *
 *     cc -O2 -I loop loop/examples/recorded.c -o recorded
 *     howlate record --out recorded.d     # in another terminal, as root
 *     ./recorded
 *     howlate show recorded.d
 */
#include "howlate_span.h"
#include <stdio.h>

enum { PERIOD = 50000000, TURNS = 40, LONG = 25 };

static void work(uint64_t nanoseconds)
{
    const uint64_t until = howlate_now(0) + nanoseconds;
    while (howlate_now(0) < until) {
    }
}

static void wait_until(uint64_t time)
{
    struct timespec at;
    at.tv_sec = HOWLATE_AS(time_t, time / 1000000000), at.tv_nsec = HOWLATE_AS(long, time % 1000000000);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, HOWLATE_NULL);
}

int main(void)
{
    struct howlate loop = howlate_loop("control", PERIOD);
    struct howlate_span plan = howlate_span(&loop, "long plan");
    uint64_t due = howlate_now(0);
    int turn, asked = 0;
    for (turn = 0; turn < TURNS; turn++) {
        for (due += PERIOD; due + PERIOD <= howlate_now(0);)
            due += PERIOD; /* those that went by while it was at work are left out */
        wait_until(due);
        howlate_wake_at(&loop, due);
        work(1000000);
        if (turn == LONG) {
            howlate_span_begin(&plan);
            work(3 * HOWLATE_AS(uint64_t, PERIOD));
            howlate_span_end(&plan);
            asked = howlate_snap("planned for too long");
        }
        howlate_done(&loop);
    }
    puts(asked ? "a recorder was asked" : "no recorder");
    return 0;
}
