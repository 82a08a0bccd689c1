// A server whose requests wait in known ways, and its client. Prints of each request the way, and when the wait began and ended, in
// nanoseconds of CLOCK_MONOTONIC, and for how many of them a thread that worked in it did not have its CPU. Its argument is the number of requests of each way.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
enum way { OWN_WORK, OWN_SLEEP, SLEEPING_HOLDER, WORKING_HOLDER, FILE_LOCK, SEMAPHORE, CONDITION, PIPE, SOCKETS, EVENTFD, SIGNAL, WAYS };
static const char *names[WAYS] = {"own_work", "own_sleep", "sleeping_holder", "working_holder", "file_lock", "semaphore",
                                  "condition", "pipe", "sockets", "eventfd", "signal"};
static const long LENGTH = 3000000;
// Between two readings of the clock a thread that has its CPU needs far less.
static const int64_t STEP = 1000;
static _Atomic int64_t away;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, condition_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t ask_holder, held, waits, ask_helper, helped;
static int pipe_ends[2], sockets[2], event, holder_file, worker_file, is_done;
static enum way asked_of_holder, asked_of_helper;
static pthread_t worker;
static int64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
static void work(void)
{
    int64_t last = nanoseconds(), until = last + LENGTH, now;
    while (last < until) {
        now = nanoseconds();
        if (now - last > STEP)
            away += now - last;
        last = now;
    }
}
static void rest(void)
{
    struct timespec length = {0, LENGTH};
    nanosleep(&length, NULL);
}
// Has a lock until the worker has waited for it for a while.
static void *hold(void *none)
{
    prctl(PR_SET_NAME, "holder");
    for (;;) {
        sem_wait(&ask_holder);
        if (asked_of_holder == FILE_LOCK)
            flock(holder_file, LOCK_EX);
        else
            pthread_mutex_lock(&lock);
        sem_post(&held);
        sem_wait(&waits);
        if (asked_of_holder == WORKING_HOLDER)
            work();
        else
            rest();
        if (asked_of_holder == FILE_LOCK)
            flock(holder_file, LOCK_UN);
        else
            pthread_mutex_unlock(&lock);
    }
    return none;
}
// Works for the worker, and says so in the way that it waits for.
static void *help(void *none)
{
    char byte = 0;
    uint64_t one = 1;
    prctl(PR_SET_NAME, "helper");
    for (;;) {
        sem_wait(&ask_helper);
        work();
        switch (asked_of_helper) {
        case SEMAPHORE: sem_post(&helped); break;
        case CONDITION:
            pthread_mutex_lock(&condition_lock);
            is_done = 1;
            pthread_cond_signal(&condition);
            pthread_mutex_unlock(&condition_lock);
            break;
        case PIPE: if (write(pipe_ends[1], &byte, 1) != 1) exit(1); break;
        case SOCKETS: if (write(sockets[1], &byte, 1) != 1) exit(1); break;
        case EVENTFD: if (write(event, &one, sizeof one) != sizeof one) exit(1); break;
        default: pthread_kill(worker, SIGUSR1);
        }
    }
    return none;
}
static void be_helped(enum way way)
{
    char byte;
    uint64_t count;
    int signal;
    sigset_t signals;
    asked_of_helper = way;
    sem_post(&ask_helper);
    switch (way) {
    case SEMAPHORE: sem_wait(&helped); break;
    case CONDITION:
        pthread_mutex_lock(&condition_lock);
        while (!is_done)
            pthread_cond_wait(&condition, &condition_lock);
        is_done = 0;
        pthread_mutex_unlock(&condition_lock);
        break;
    case PIPE: if (read(pipe_ends[0], &byte, 1) != 1) exit(1); break;
    case SOCKETS: if (read(sockets[0], &byte, 1) != 1) exit(1); break;
    case EVENTFD: if (read(event, &count, sizeof count) != sizeof count) exit(1); break;
    default:
        sigemptyset(&signals);
        sigaddset(&signals, SIGUSR1);
        sigwait(&signals, &signal);
    }
}
static void answer(enum way way)
{
    int64_t from = nanoseconds();
    away = 0;
    switch (way) {
    case OWN_WORK: work(); break;
    case OWN_SLEEP: rest(); break;
    case SLEEPING_HOLDER:
    case WORKING_HOLDER:
        sem_post(&waits);
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
        break;
    case FILE_LOCK:
        sem_post(&waits);
        flock(worker_file, LOCK_EX);
        flock(worker_file, LOCK_UN);
        break;
    default: be_helped(way);
    }
    printf("%s %lld %lld %lld\n", names[way], (long long)from, (long long)nanoseconds(), (long long)away);
}
static void *serve(void *listener)
{
    unsigned char way;
    int connection = accept((int)(intptr_t)listener, NULL, NULL);
    prctl(PR_SET_NAME, "worker");
    worker = pthread_self();
    while (recv(connection, &way, 1, 0) == 1) {
        answer((enum way)way);
        if (send(connection, &way, 1, 0) != 1)
            break;
    }
    return NULL;
}
static void begin(void *(*thread)(void *), intptr_t with)
{
    pthread_t started;
    pthread_create(&started, NULL, thread, (void *)with);
}
int main(int count, char **arguments)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timespec pause = {0, 5000000};
    socklen_t length = sizeof address;
    char file[] = "/tmp/howlate-truth-XXXXXX";
    int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    long turn, turns = count > 1 ? atol(arguments[1]) : 10;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    sem_init(&ask_holder, 0, 0), sem_init(&held, 0, 0), sem_init(&waits, 0, 0);
    sem_init(&ask_helper, 0, 0), sem_init(&helped, 0, 0);
    holder_file = mkstemp(file), worker_file = open(file, O_RDWR), event = eventfd(0, 0);
    unlink(file);
    if (worker_file < 0 || event < 0 || pipe(pipe_ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) ||
        bind(listener, (void *)&address, sizeof address) || listen(listener, 1) ||
        getsockname(listener, (void *)&address, &length))
        return 1;
    begin(hold, 0), begin(help, 0), begin(serve, listener);
    if (connect(client, (void *)&address, sizeof address))
        return 1;
    for (turn = 0; turn < turns * WAYS; turn++) {
        unsigned char way = turn % WAYS;
        nanosleep(&pause, NULL);
        if (way == SLEEPING_HOLDER || way == WORKING_HOLDER || way == FILE_LOCK)
            asked_of_holder = way, sem_post(&ask_holder), sem_wait(&held);
        if (send(client, &way, 1, 0) != 1 || recv(client, &way, 1, 0) != 1)
            return 1;
    }
    return 0;
}
