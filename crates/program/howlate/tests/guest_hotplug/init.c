// The first process of a guest: runs howlate, and takes a CPU away from it and gives it back. `/commands` has a line for each command: its name here, a text that it has printed or recorded when it
// has begun (`-`: it says nothing then), another that its result holds (`-`: there is nothing to say), and its words, each after
// a tab.
#include "../guest_init/init.h"

/* Tenths of a second. The patience is for guests without KVM whose host is busy. */
enum { WORDS = 64, PATIENCE = 3000, AT_WORK = 30 };
#define CPU "/sys/devices/system/cpu/cpu1/online"

/* Whether it ended in time; it is killed otherwise. */
static int ended(pid_t child, int *status) {
    for (int tenth = 0; tenth < PATIENCE; tenth++) {
        if (waitpid(child, status, WNOHANG) == child) return 1;
        usleep(TENTH);
    }
    kill(child, SIGKILL);
    waitpid(child, status, 0);
    return 0;
}

static int has_begun(pid_t child, const char *text, int *status) {
    for (int tenth = 0; tenth < PATIENCE; tenth++) {
        if (!strcmp(text, "-") && tenth == AT_WORK) return 1;
        if (strstr(content_of(OUTPUT), text) || strstr(content_of("/tmp/out"), text)) return 1;
        if (waitpid(child, status, WNOHANG) == child) return 0;
        usleep(TENTH);
    }
    return 0;
}

static void run(char *line) {
    char *name = strsep(&line, "\t"), *text = strsep(&line, "\t"), *says = strsep(&line, "\t");
    char *words[WORDS] = { "howlate" };
    for (int count = 1; count < WORDS - 1 && (words[count] = strsep(&line, "\t")); count++) {}
    unlink("/tmp/out");
    unlink(OUTPUT);
    int status = 0;
    pid_t child = start(words);
    if (!has_begun(child, text, &status)) {
        printf("%s: NOT BEGUN: %.300s\n", name, content_of(OUTPUT));
        return;
    }
    int off = write_to(CPU, "0");
    usleep(10 * TENTH);
    int on = write_to(CPU, "1");
    usleep(5 * TENTH);
    kill(child, SIGINT);
    int in_time = ended(child, &status);
    int panics = strstr(content_of(OUTPUT), "panicked") != NULL;
    if (access("/tmp/out", F_OK) == 0) {
        char *show[] = { "howlate", "show", "/tmp/out", NULL };
        int shown;
        ended(start(show), &shown);
    }
    int told = !strcmp(says, "-") || strstr(content_of(OUTPUT), says) != NULL;
    printf("%s: CPU %s, %s with %d, %s%s\n", name, off > 0 && on > 0 ? "off and on" : "STAYED", in_time ? "ended" : "HUNG",
           WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), told ? "told" : "NOT TOLD", panics ? ", PANIC" : "");
    fflush(stdout);
}

int main(void) {
    set_up();
    static char commands[1 << 16];
    snprintf(commands, sizeof commands, "%s", content_of("/commands"));
    char *rest = commands, *line;
    while ((line = strsep(&rest, "\n")) && *line) run(line);
    printf("setting: %s", content_of("/proc/sys/vm/stat_interval"));
    fflush(stdout);
    sleep(1);
    reboot(RB_POWER_OFF);
}
