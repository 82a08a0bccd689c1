/* The least program that measures one-way notification: what `howlate notify` is compared with.
 * ping MECHANISM GAP_NS COUNT SENDER_CPU RECEIVER_CPU PRIORITY: prints the median in ns. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WARM_UP = 10, MOST = 1 << 20 };
struct shared {
    _Alignas(128) _Atomic uint32_t word;
    _Alignas(128) _Atomic uint32_t done;
    _Alignas(128) int64_t sent[MOST];
    int64_t ran[MOST];
};
static struct shared *s;
static int pipes[2], event;

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}
static void settle(int cpu, int priority) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
    struct sched_param p = {.sched_priority = priority};
    if (priority > 0) sched_setscheduler(0, SCHED_FIFO, &p);
}
static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}
int main(int argc, char **argv) {
    if (argc < 7) return 2;
    const char *by = argv[1];
    long gap = atol(argv[2]), count = atol(argv[3]) + WARM_UP;
    int sender = atoi(argv[4]), receiver = atoi(argv[5]), priority = atoi(argv[6]);
    int kind = !strcmp(by, "busy_wait") ? 0 : !strcmp(by, "futex") ? 1 : !strcmp(by, "pipe") ? 2 : 3;
    if (count > MOST) return 2;
    mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
    s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset(s->sent, 0, (size_t)count * 8);
    memset(s->ran, 0, (size_t)count * 8);
    if (pipe(pipes) || (event = eventfd(0, 0)) < 0) return 2;
    pid_t child = fork();
    if (child == 0) {
        settle(receiver, priority);
        uint32_t seen = 0;
        uint64_t message;
        for (long i = 0; i < count; i++) {
            if (kind == 0) {
                while (s->word == seen) __builtin_ia32_pause();
                seen = s->word;
            } else if (kind == 1) {
                while (s->word == seen) syscall(SYS_futex, &s->word, FUTEX_WAIT, seen, NULL, NULL, 0);
                seen = s->word;
            } else if (kind == 2) {
                if (read(pipes[0], &message, 8) != 8) _exit(1);
            } else if (read(event, &message, 8) != 8) _exit(1);
            s->ran[i] = now();
            atomic_store_explicit(&s->done, i + 1, memory_order_release);
        }
        _exit(0);
    }
    settle(sender, priority);
    struct timespec pause = {gap / 1000000000L, gap % 1000000000L};
    for (long i = 0; i < count; i++) {
        do clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        while (atomic_load_explicit(&s->done, memory_order_acquire) < i);
        uint64_t message = 1;
        s->sent[i] = now();
        if (kind < 2) {
            atomic_store_explicit(&s->word, i + 1, memory_order_release);
            if (kind == 1) syscall(SYS_futex, &s->word, FUTEX_WAKE, 1, NULL, NULL, 0);
        } else if (write(kind == 2 ? pipes[1] : event, &message, 8) != 8) return 1;
    }
    waitpid(child, NULL, 0);
    int64_t *late = malloc((size_t)count * 8);
    for (long i = WARM_UP; i < count; i++) late[i - WARM_UP] = s->ran[i] - s->sent[i];
    qsort(late, (size_t)(count - WARM_UP), 8, by_value);
    printf("%lld\n", (long long)late[(count - WARM_UP) / 2]);
    return 0;
}
