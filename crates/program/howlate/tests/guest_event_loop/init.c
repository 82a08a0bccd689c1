// The first process of a guest: a recorder, and beside it event loops that do not come back to their events. Prints what was recorded.
#include "../guest_init/init.h"
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>

enum { PATIENCE = 1200, TURNS = 200, AWAY = 500 };

static long now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000000000 + at.tv_nsec;
}

static void turn(int epoll) {
    struct epoll_event event;
    epoll_wait(epoll, &event, 1, 1);
}

/* Often enough to be an event loop; then away twice: at work, and asleep. */
static void stay_away(const char *name, int epoll) {
    prctl(PR_SET_NAME, name);
    for (int number = 0; number < TURNS; number++) turn(epoll);
    for (long began = now(); now() - began < AWAY * 1000000L;) {}
    turn(epoll);
    usleep(AWAY * 1000);
    turn(epoll);
    turn(epoll);
}

/* Waits for the same events, and gets none. */
static void *serve(void *epoll) {
    struct epoll_event event;
    epoll_wait(*(int *)epoll, &event, 1, -1);
    return NULL;
}

/* Polls only, and waits elsewhere. */
static void poll_now_and_then(int epoll) {
    struct epoll_event event;
    prctl(PR_SET_NAME, "loop-polls");
    for (int number = 0; number < TURNS; number++) epoll_wait(epoll, &event, 1, 0);
    usleep(AWAY * 1000);
    epoll_wait(epoll, &event, 1, 0);
}

static void wait_for(const char *text) {
    for (int tenth = 0; tenth < PATIENCE && !strstr(content_of(OUTPUT), text); tenth++) usleep(TENTH);
}

int main(void) {
    set_up();
    char *record[] = { "howlate", "record", "--process", "loop*", "--late-above", "1h", "--loop-above", "300ms", "--out", "/tmp/kept", NULL };
    pid_t recorder = start(record);
    wait_for("howlate show");
    printf("recorder: %.300s\n", content_of(OUTPUT));
    int alone = epoll_create1(0), shared = epoll_create1(0);
    pthread_t other;
    pthread_create(&other, NULL, serve, &shared);
    usleep(TENTH);
    stay_away("loop-shared", shared);
    poll_now_and_then(epoll_create1(0));
    stay_away("loop-alone", alone);
    prctl(PR_SET_NAME, "init");
    usleep(20 * TENTH);
    int status;
    kill(recorder, SIGINT);
    waitpid(recorder, &status, 0);
    char *show[] = { "howlate", "show", "/tmp/kept", "--format", "folded", NULL };
    waitpid(start(show), &status, 0);
    printf("%sthat is all\n", content_of(OUTPUT));
    fflush(stdout);
    sleep(1);
    reboot(RB_POWER_OFF);
}
