// How late C's nanosleep returns. The protocol is described in docs/probes.md.
#define _GNU_SOURCE
#include <gnu/libc-version.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 4096 }; // readings kept before they are printed
static const int64_t SECOND = 1000000000;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * SECOND + time.tv_nsec;
}

static void print(int64_t readings[][2], int kept) {
    for (int i = 0; i < kept; i++)
        printf("%lld %lld\n", (long long)readings[i][0], (long long)readings[i][1]);
    fflush(stdout);
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    int64_t length = atoll(argv[1]);
    struct timespec asked = {.tv_sec = length / SECOND, .tv_nsec = length % SECOND};
    printf("howlate-probe 1 monotonic C, compiler %s, glibc %s: nanosleep\n", __VERSION__, gnu_get_libc_version());
    fflush(stdout);

    static int64_t readings[MOST][2];
    int kept = 0;
    int64_t next_print = now() + SECOND;
    for (int64_t left = atoll(argv[2]); left > 0; left--) {
        readings[kept][0] = now();
        nanosleep(&asked, NULL);
        readings[kept][1] = now();
        int64_t end = readings[kept++][1];
        if (kept == MOST || end >= next_print || left == 1) {
            print(readings, kept);
            kept = 0;
            next_print = now() + SECOND;
        }
    }
    puts("end");
    return 0;
}
