/* A server and its client on one CPU, over a loopback connection: echo CPU. Prints the server's process, then its round trips so
 * far with their time, every 20 ms, as `CLOCK_MONOTONIC` has it in ns. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define EVERY 20000000

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}
static void serve(int listener) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    char byte;
    int one = 1, from = accept(listener, NULL, NULL);
    setsockopt(from, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    while (read(from, &byte, 1) == 1)
        if (write(from, &byte, 1) != 1) exit(1);
    exit(0);
}
int main(int argc, char **argv) {
    if (argc < 2) return 2;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(atoi(argv[1]), &set);
    if (sched_setaffinity(0, sizeof set, &set)) return 2;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0), to = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    if (bind(listener, (void *)&at, length) || listen(listener, 1)) return 2;
    if (getsockname(listener, (void *)&at, &length)) return 2;
    pid_t server = fork();
    if (server == 0) serve(listener);
    if (server < 0 || connect(to, (void *)&at, length)) return 2;
    printf("%d\n", server);
    fflush(stdout);
    setsockopt(to, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    char byte = 1;
    int64_t count = 0, next = now() + EVERY;
    while (write(to, &byte, 1) == 1 && read(to, &byte, 1) == 1) {
        int64_t at = now();
        count++;
        if (at < next) continue;
        printf("%lld %lld\n", (long long)at, (long long)count);
        fflush(stdout);
        next = at + EVERY;
    }
    return 0;
}
