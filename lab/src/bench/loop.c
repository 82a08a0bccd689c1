/* What the lines of howlate.h cost a turn, or those of howlate_span.h one that has them: pairs of stretches in random order, with
 * and without; prints one difference per pair. */
#include "howlate_span.h"

#include <stdio.h>

enum { TURNS = 1900, PAIRS = 400 };

static uint64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* What finds no room in the ring costs less, so howlate is given the time to empty it. */
static void wait_until_read(const struct howlate *loop)
{
    for (int times = 0; times < 500; times++) {
        struct timespec pause = { 0, 10000000 };
        nanosleep(&pause, NULL);
        if (!loop->own || __atomic_load_n(&loop->own[0][HOWLATE_READ], __ATOMIC_ACQUIRE) == loop->written)
            return;
    }
}

static double turn(struct howlate *loop, struct howlate_span *span, int marked, int with_span)
{
    uint64_t begin = nanoseconds();
    for (int number = 0; number < TURNS; number++) {
        __asm__ volatile("" ::: "memory");
        if (marked) {
            howlate_wake(loop);
            __asm__ volatile("" ::: "memory");
            if (with_span) {
                howlate_span_begin(span);
                __asm__ volatile("" ::: "memory");
                howlate_span_end(span);
            }
            howlate_done(loop);
        }
    }
    return (double)(nanoseconds() - begin) / TURNS;
}

int main(int count, char **words)
{
    int of_span = count > 1 && strcmp(words[1], "span") == 0;
    struct howlate loop = howlate_loop("bench", 1000000);
    struct howlate_span span = howlate_span(&loop, "span");
    for (int pair = 0; pair < PAIRS; pair++) {
        double with, without;
        wait_until_read(&loop);
        if (rand() & 1) {
            with = turn(&loop, &span, 1, of_span);
            without = turn(&loop, &span, of_span, 0);
        } else {
            without = turn(&loop, &span, of_span, 0);
            with = turn(&loop, &span, 1, of_span);
        }
        printf("%.2f\n", with - without);
    }
    return 0;
}
