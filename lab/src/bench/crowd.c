/* A server of very many threads: ten thousand stay and look up every ten seconds, and a thousand begin each second, each of a
 * name of its own, for a few milliseconds. Says when those that stay are there. Ends with whoever started it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>

enum { STAY = 10000, EACH_MS = 1, STACK = 65536 };

static void nap(long ms)
{
    struct timespec length = { ms / 1000, ms % 1000 * 1000000 };
    nanosleep(&length, NULL);
}

static void *stays(void *number)
{
    nap((long)number % 10000);
    for (;;)
        nap(10000);
    return NULL;
}

static void *goes(void *number)
{
    char name[16];
    snprintf(name, sizeof name, "goes-%ld", (long)number);
    prctl(PR_SET_NAME, name);
    nap(5);
    return NULL;
}

static int begin(void *(*what)(void *), long number)
{
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK);
    pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
    return pthread_create(&thread, &small, what, (void *)number);
}

int main(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (long number = 0; number < STAY; number++) {
        if (begin(stays, number)) {
            perror("crowd");
            return 1;
        }
    }
    puts("there");
    fflush(stdout);
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (long number = 0;; number++) {
        begin(goes, number);
        next.tv_nsec += EACH_MS * 1000000;
        if (next.tv_nsec >= 1000000000) {
            next.tv_nsec -= 1000000000;
            next.tv_sec++;
        }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
}
