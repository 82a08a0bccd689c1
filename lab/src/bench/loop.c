/* What the lines of howlate.h cost a turn: pairs of stretches in random order, with and without; prints one difference per pair. */
#include "howlate.h"

#include <stdio.h>

enum { TURNS = 2000, PAIRS = 400 };

static uint64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static double turn(struct howlate *loop, int marked)
{
    uint64_t begin = nanoseconds();
    for (int number = 0; number < TURNS; number++) {
        __asm__ volatile("" ::: "memory");
        if (marked) {
            howlate_wake(loop);
            __asm__ volatile("" ::: "memory");
            howlate_done(loop);
        }
    }
    return (double)(nanoseconds() - begin) / TURNS;
}

int main(void)
{
    struct howlate loop = howlate_loop("bench", 1000000);
    for (int pair = 0; pair < PAIRS; pair++) {
        /* Time for the ring to be emptied. */
        struct timespec pause = { 0, 10000000 };
        double with, without;
        nanosleep(&pause, NULL);
        if (rand() & 1) {
            with = turn(&loop, 1);
            without = turn(&loop, 0);
        } else {
            without = turn(&loop, 0);
            with = turn(&loop, 1);
        }
        printf("%.2f\n", with - without);
    }
    return 0;
}
