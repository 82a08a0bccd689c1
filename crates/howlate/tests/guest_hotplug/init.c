// The first process of a guest: runs howlate, and takes a CPU away from it and gives it back. What it runs, and all that this
// needs, stands behind its own code: a line with path and length before each file, and at the very end, in 16 digits, where the
// first of them begins. `/commands` has a line for each command: its name here, a text that it has printed or recorded when it
// has begun (`-`: it says nothing then), another that its result holds (`-`: there is nothing to say), and its words, each after
// a tab.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONG = 4096, WORDS = 64, PATIENCE = 600, AT_WORK = 30, TENTH = 100000 };
#define CPU "/sys/devices/system/cpu/cpu1/online"
#define OUTPUT "/tmp/output"

static int write_to(const char *path, const char *text) {
    int file = open(path, O_WRONLY);
    int written = file < 0 ? -1 : (int)write(file, text, strlen(text));
    if (file >= 0) close(file);
    return written;
}

static void make_folders(const char *path) {
    char part[LONG];
    for (const char *end = strchr(path + 1, '/'); end; end = strchr(end + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(end - path), path);
        mkdir(part, 0755);
    }
}

static void unpack(void) {
    FILE *self = fopen("/init", "r");
    char line[LONG], path[LONG];
    long begin, length;
    fseek(self, -16, SEEK_END);
    if (fscanf(self, "%ld", &begin) != 1) return;
    fseek(self, begin, SEEK_SET);
    while (fgets(line, sizeof line, self) && sscanf(line, "%s %ld", path, &length) == 2) {
        make_folders(path);
        FILE *file = fopen(path, "w");
        char *content = malloc(length);
        if (file && fread(content, 1, length, self) == (size_t)length) fwrite(content, 1, length, file);
        if (file) fclose(file);
        free(content);
        chmod(path, 0755);
    }
    fclose(self);
}

static char *content_of(const char *path) {
    static char content[4 << 20];
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(content, 1, sizeof content - 1, file) : 0;
    if (file) fclose(file);
    content[length] = 0;
    return content;
}

static pid_t start(char **words) {
    pid_t child = fork();
    if (child) return child;
    int out = open(OUTPUT, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(out, 1);
    dup2(out, 2);
    execv("/howlate", words);
    _exit(127);
}

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
    mkdir("/proc", 0755), mkdir("/sys", 0755), mkdir("/tmp", 0755), mkdir("/run", 0755);
    mount("proc", "/proc", "proc", 0, NULL);
    mount("sysfs", "/sys", "sysfs", 0, NULL);
    mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
    mount("tmpfs", "/run", "tmpfs", 0, "mode=755");
    mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
    mkdir("/dev/shm", 01777);
    mount("tmpfs", "/dev/shm", "tmpfs", 0, NULL);
    write_to("/proc/sys/kernel/printk", "0");
    unpack();
    setenv("HOME", "/tmp", 1);
    setenv("PATH", "/", 1);
    static char commands[1 << 16];
    snprintf(commands, sizeof commands, "%s", content_of("/commands"));
    char *rest = commands, *line;
    while ((line = strsep(&rest, "\n")) && *line) run(line);
    printf("setting: %s", content_of("/proc/sys/vm/stat_interval"));
    fflush(stdout);
    sleep(1);
    reboot(RB_POWER_OFF);
}
