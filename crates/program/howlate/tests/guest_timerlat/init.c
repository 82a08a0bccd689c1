// The first process of a guest: asks the kernel's own timerlat tracer how late its threads wake, prints the median on the
// console, and powers off. Source: Documentation/trace/timerlat-tracer.rst
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 10000 };

static void write_to(const char *path, const char *text) {
    int file = open(path, O_WRONLY);
    if (file < 0 || write(file, text, strlen(text)) < 0) printf("cannot write %s\n", path);
    close(file);
}

static int ascending(const void *one, const void *other) {
    long a = *(const long *)one, b = *(const long *)other;
    return (a > b) - (a < b);
}

int main(void) {
    static long latencies[MOST];
    int count = 0;
    char line[512];
    mkdir("/trace", 0755);
    if (mount("tracefs", "/trace", "tracefs", 0, NULL) != 0) printf("cannot mount tracefs\n");
    write_to("/trace/osnoise/timerlat_period_us", "10000");
    write_to("/trace/current_tracer", "timerlat");
    sleep(5);
    write_to("/trace/tracing_on", "0");
    FILE *trace = fopen("/trace/trace", "r");
    while (trace && fgets(line, sizeof line, trace) && count < MOST) {
        char *found = strstr(line, "context thread timer_latency");
        if (found) latencies[count++] = strtol(found + strlen("context thread timer_latency"), NULL, 10);
    }
    qsort(latencies, count, sizeof *latencies, ascending);
    printf("\ntimerlat %d wake-ups, median %ld ns\n", count, count ? latencies[count / 2] : -1);
    fflush(stdout);
    sleep(1);
    reboot(RB_POWER_OFF);
}
