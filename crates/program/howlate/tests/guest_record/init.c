// The first process of a guest: `howlate record` goes on while a CPU is away and while the clock is set back and forth. In each phase
// a real-time thread of another name keeps a sleeper of CPU 1 waiting; at the end, who reads the folder finds all of them.
#define _GNU_SOURCE
#include "../guest_init/init.h"
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <time.h>

enum { PATIENCE = 3000, HOGS = 4, HOUR = 3600, MS = 1000 };
#define CPU "/sys/devices/system/cpu/cpu1/online"

static volatile int over;

static void on_cpu_1(int policy, int priority, const char *name) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(1, &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus);
    struct sched_param parameter = { priority };
    sched_setscheduler(0, policy, &parameter);
    prctl(PR_SET_NAME, name);
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void *sleeper(void *name) {
    on_cpu_1(SCHED_OTHER, 0, name);
    while (!over) usleep(2 * MS);
    return NULL;
}

/* Keeps the sleeper's CPU for 60 ms, four times. */
static void *hog(void *name) {
    on_cpu_1(SCHED_FIFO, 60, name);
    for (int turn = 0; turn < HOGS; turn++) {
        usleep(1500 * MS);
        for (int64_t end = now() + 60000000; now() < end;) {}
    }
    return NULL;
}

/* A name, and the time of day from its first turn to its last. */
struct phase {
    const char *late, *culprit;
    char begin[9], end[9];
};

static void time_of_day(char *text) {
    time_t now = time(NULL);
    strftime(text, 9, "%H:%M:%S", gmtime(&now));
}

static void run(struct phase *phase) {
    pthread_t threads[2];
    over = 0;
    time_of_day(phase->begin);
    pthread_create(&threads[0], NULL, sleeper, (void *)phase->late);
    pthread_create(&threads[1], NULL, hog, (void *)phase->culprit);
    pthread_join(threads[1], NULL);
    usleep(500 * MS);
    time_of_day(phase->end);
    over = 1;
    pthread_join(threads[0], NULL);
}

static void step(int seconds) {
    struct timeval time;
    gettimeofday(&time, NULL);
    time.tv_sec += seconds;
    settimeofday(&time, NULL);
}

/* How many lines of `show` blame this culprit below a line with the late thread's name and a time within the phase. */
static int told(const struct phase *phase, const char *shown) {
    char late[LONG], blamed[LONG];
    snprintf(late, sizeof late, "  init %s (", phase->late);
    snprintf(blamed, sizeof blamed, "held up by %s ", phase->culprit);
    int count = 0;
    for (const char *line = shown; (line = strstr(line, late)); line++) {
        const char *begin = line, *next = strchr(line, '\n');
        while (begin > shown && begin[-1] != '\n') begin--;
        begin += strspn(begin, " ");
        if (begin[2] == '-') begin += 6; /* with the date, if there are several */
        const char *blame = next ? strstr(next, blamed) : NULL;
        /* Midnight in between: any time will do. */
        int in_time = strcmp(phase->begin, phase->end) > 0 ||
                      (strncmp(begin, phase->begin, 8) >= 0 && strncmp(begin, phase->end, 8) <= 0);
        count += in_time && blame && blame < strchr(next + 1, '\n');
    }
    return count;
}

int main(void) {
    set_up();
    char *record[] = { "howlate", "record", "--out", "/tmp/kept", "--late-above", "20ms", NULL };
    pid_t recorder = start(record);
    for (int tenth = 0; tenth < PATIENCE && !strstr(content_of(OUTPUT), "howlate show"); tenth++) usleep(TENTH);
    struct phase phases[] = {
        { "late-first", "hog-first" }, { "late-away", "hog-away" },   { "late-again", "hog-again" },
        { "late-back", "hog-back" },   { "late-forth", "hog-forth" },
    };
    run(&phases[0]);
    write_to(CPU, "0");
    usleep(10 * TENTH);
    run(&phases[1]);
    write_to(CPU, "1");
    run(&phases[2]);
    step(-HOUR);
    run(&phases[3]);
    step(2 * HOUR);
    run(&phases[4]);
    int status;
    kill(recorder, SIGINT);
    waitpid(recorder, &status, 0);
    char *show[] = { "howlate", "show", "--details", "/tmp/kept", NULL };
    unlink(OUTPUT);
    waitpid(start(show), &status, 0);
    for (unsigned which = 0; which < sizeof phases / sizeof *phases; which++)
        printf("%s: %d of %d\n", phases[which].culprit, told(&phases[which], content_of(OUTPUT)), HOGS);
    fflush(stdout);
    usleep(10 * TENTH);
    reboot(RB_POWER_OFF);
}
