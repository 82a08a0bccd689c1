// A server and its client. A reader hands each request to a worker, who needs a lock that a keeper holds, who sleeps meanwhile. Prints
// what the client and the worker have waited, and last the port. Its argument is the path of a socket.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t take, taken, waits, work, done;
static int answer_to;
static char meets;
static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
static uint64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
static void *keep(void *none)
{
    struct timespec hold = {0, 5000000};
    prctl(PR_SET_NAME, "keeper");
    for (;;) {
        sem_wait(&take);
        pthread_mutex_lock(&lock);
        sem_post(&taken);
        sem_wait(&waits);
        nanosleep(&hold, NULL);
        pthread_mutex_unlock(&lock);
    }
    return none;
}
static void *answer(void *none)
{
    prctl(PR_SET_NAME, "worker");
    for (;;) {
        uint64_t from;
        char asked;
        sem_wait(&work);
        from = nanoseconds();
        asked = meets;
        if (asked)
            sem_post(&waits);
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
        if (asked)
            fprintf(stderr, "worker %lu\n", (unsigned long)(nanoseconds() - from));
        if (send(answer_to, "a", 1, 0) != 1)
            break;
        sem_post(&done);
    }
    return none;
}
static void *serve(void *listener)
{
    char data[64];
    int connection;
    prctl(PR_SET_NAME, "reader");
    while ((connection = accept((int)(intptr_t)listener, NULL, NULL)) >= 0) {
        while (recv(connection, data, sizeof(data), 0) > 0) {
            meets = data[0] == 'm';
            answer_to = connection;
            sem_post(&work);
            sem_wait(&done);
        }
        close(connection);
    }
    return NULL;
}
static uint64_t ask(int connection, const char *text, size_t length)
{
    char reply;
    uint64_t from = nanoseconds();
    if (send(connection, text, length, 0) != (ssize_t)length || recv(connection, &reply, 1, 0) != 1)
        _exit(1);
    return nanoseconds() - from;
}
static void begin(void *(*thread)(void *), intptr_t with)
{
    pthread_t started;
    pthread_create(&started, NULL, thread, (void *)with);
}
int main(int count, char **words)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    struct timespec pause = {0, 2000000};
    socklen_t length = sizeof(address);
    int tcp = socket(AF_INET, SOCK_STREAM, 0), local = socket(AF_UNIX, SOCK_STREAM, 0), client, turn;
    sem_init(&take, 0, 0), sem_init(&taken, 0, 0), sem_init(&waits, 0, 0), sem_init(&work, 0, 0), sem_init(&done, 0, 0);
    strncpy(name.sun_path, words[count - 1], sizeof(name.sun_path) - 1);
    if (bind(tcp, (void *)&address, sizeof(address)) || listen(tcp, 4) || getsockname(tcp, (void *)&address, &length) ||
        bind(local, (void *)&name, sizeof(name)) || listen(local, 4))
        return 1;
    begin(keep, 0), begin(answer, 0), begin(serve, tcp), begin(serve, local);
    client = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(client, (void *)&address, sizeof(address)))
        return 1;
    for (turn = 0; turn < 200; turn++) {
        nanosleep(&pause, NULL);
        if (turn % 10 == 5)
            sem_post(&take), sem_wait(&taken);
        fprintf(stderr, "client %lu\n", (unsigned long)ask(client, turn % 10 == 5 ? "m" : "n", 1));
    }
    close(client);
    client = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(client, (void *)&address, sizeof(address)))
        return 1;
    ask(client, preface, sizeof(preface) - 1), ask(client, "n", 1);
    close(client);
    client = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(client, (void *)&name, sizeof(name)))
        return 1;
    for (turn = 0; turn < 20; turn++)
        nanosleep(&pause, NULL), ask(client, "n", 1);
    fprintf(stderr, "port %u\n", ntohs(address.sin_port));
    return 0;
}
