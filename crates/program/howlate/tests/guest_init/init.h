/* What the first process of a guest needs: the file systems, and the files that stand behind its own code. Those are howlate and
 * whatever it is to be given: before each a line with its path and length, and at the very end, in 16 digits, where the first of them
 * begins. */
#pragma once
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

enum { LONG = 4096, TENTH = 100000 };
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

/* Starts howlate; what it says is in `OUTPUT`. */
static pid_t start(char **words) {
    pid_t child = fork();
    if (child) return child;
    int out = open(OUTPUT, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(out, 1);
    dup2(out, 2);
    execv("/howlate", words);
    _exit(127);
}

/* A machine with all that howlate looks at. */
static void set_up(void) {
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
}
