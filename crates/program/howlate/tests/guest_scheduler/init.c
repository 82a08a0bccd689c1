// The first process of a guest with a scheduler of BPF that lets a thread wait while its CPU is idle. `howlate record` runs while it
// does, and again after that scheduler has gone; the scheduler's own sum says how long the thread waited.
#define _GNU_SOURCE
#include "../guest_init/init.h"
#include <sched.h>
#include <sys/prctl.h>

enum { PATIENCE = 3000, SLEEPS = 30 };

static void wait_for(pid_t child) {
    int status;
    waitpid(child, &status, 0);
}

/* What bpftool says is in `OUTPUT`. */
static void bpftool(char **words) {
    pid_t child = fork();
    if (child) return wait_for(child);
    int out = open(OUTPUT, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(out, 1);
    dup2(out, 2);
    execv("/bpftool", words);
    _exit(127);
}

/* The number after this name in a text of JSON. */
static long long number(const char *text, const char *name) {
    const char *found = text ? strstr(text, name) : NULL;
    return found ? atoll(found + strlen(name) + strspn(found + strlen(name), "\": ")) : 0;
}

/* A thread sleeps, and howlate records how late it wakes. */
static void record(const char *folder) {
    unlink(OUTPUT);
    char *words[] = { "howlate", "record", "--out", (char *)folder, "--late-above", "15ms", "--process", "starved", NULL };
    pid_t recorder = start(words);
    for (int tenth = 0; tenth < PATIENCE && !strstr(content_of(OUTPUT), "howlate show"); tenth++) usleep(TENTH);
    pid_t starved = fork();
    if (!starved) {
        cpu_set_t first;
        CPU_ZERO(&first);
        CPU_SET(0, &first);
        sched_setaffinity(0, sizeof first, &first);
        prctl(PR_SET_NAME, "starved");
        for (int turn = 0; turn < SLEEPS; turn++) usleep(TENTH);
        _exit(0);
    }
    wait_for(starved);
    usleep(5 * TENTH);
    kill(recorder, SIGINT);
    wait_for(recorder);
    char *show[] = { "howlate", "show", "--json", "--details", (char *)folder, NULL };
    unlink(OUTPUT);
    wait_for(start(show));
}

/* Sums, in µs, of the parts of all incidents in `OUTPUT`. */
static void print_found(const char *name) {
    long long waited = 0, left_idle = 0, longest_idle_exit = 0;
    int times = 0;
    for (const char *part = content_of(OUTPUT); (part = strstr(part, "\"part\":")); part++) {
        long long us = number(strstr(part, "\"ns\":"), "\"ns\":") / 1000;
        char head[80];
        snprintf(head, sizeof head, "%s", part);
        if (strstr(head, "\"waiting\"")) waited += us;
        if (strstr(head, "\"scheduler\"")) left_idle += us, times++;
        if (strstr(head, "\"idle_exit\"") && us > longest_idle_exit) longest_idle_exit = us;
    }
    printf("%s: waited %lld, left idle %lld, longest idle exit %lld, times %d\n", name, waited, left_idle, longest_idle_exit, times);
}

int main(void) {
    set_up();
    if (access("/sys/kernel/sched_ext", F_OK)) {
        printf("no sched_ext\n");
    } else {
        char *load[] = { "bpftool", "struct_ops", "register", "/scheduler.o", NULL };
        bpftool(load);
        printf("scheduler: %s\n", content_of("/sys/kernel/sched_ext/root/ops"));
        record("/tmp/starved");
        print_found("under it");
        char *dump[] = { "bpftool", "-j", "map", "dump", "name", "schedule.bss", NULL };
        bpftool(dump);
        const char *sums = content_of(OUTPUT);
        printf("held: waited %lld, times %lld\n", number(sums, "\"sum\":") / 1000, number(sums, "\"times\":"));
        char *unload[] = { "bpftool", "struct_ops", "unregister", "name", "starver", NULL };
        bpftool(unload);
        printf("state: %s", content_of("/sys/kernel/sched_ext/state"));
        record("/tmp/fed");
        print_found("after it");
    }
    fflush(stdout);
    usleep(10 * TENTH);
    reboot(RB_POWER_OFF);
}
