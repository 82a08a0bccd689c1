/* A loop whose turns say where they were long: one in a hundred plans for 3 ms.
 *
 *     cc -O2 -I loop loop/examples/spans.c -o spans
 *     howlate watch -- ./spans 5
 */
#include "howlate_span.h"

#include <stdio.h>

enum { PERIOD = 1000000, LONG_PLAN = 3000000, USUAL_PLAN = 100000, ACT = 50000 };

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
    uint64_t turns = count > 1 ? strtoul(words[1], NULL, 10) * 1000 : 5000, turn;
    struct howlate loop = howlate_loop("control", PERIOD);
    struct howlate_span plan = howlate_span(&loop, "plan"), act = howlate_span(&loop, "act");
    for (turn = 0; turn < turns; turn++) {
        struct timespec pause = { 0, PERIOD / 2 };
        nanosleep(&pause, NULL);
        howlate_wake(&loop);
        howlate_span_begin(&plan);
        work_for(turn % 100 == 50 ? LONG_PLAN : USUAL_PLAN);
        howlate_span_end(&plan);
        howlate_span_begin(&act);
        work_for(ACT);
        howlate_span_end(&act);
        howlate_done(&loop);
    }
    printf("%lu turns\n", (unsigned long)turns);
    return 0;
}
