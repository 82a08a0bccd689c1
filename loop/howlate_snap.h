/* Asks a running `howlate record` to keep what all CPUs have just done.
 *
 *     howlate_snap("frame dropped");      // why, of which 127 bytes count: `howlate show` lists it
 *
 * Returns whether a recorder was asked. It waits for nothing, and a recorder obeys only so many requests a minute.
 * It costs a few system calls. From any thread, of any user; not from a signal handler.
 * howlate.h includes this. Linux, C99 or C++11, GCC or clang; nothing to link.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef HOWLATE_SNAP_H
#define HOWLATE_SNAP_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#ifdef __cplusplus
#define HOWLATE_AS(type, value) static_cast<type>(value)
#define HOWLATE_NULL nullptr
#else
#define HOWLATE_AS(type, value) ((type)(value))
#define HOWLATE_NULL NULL
extern long syscall(long number, ...); /* POSIX alone does not declare it */
#endif
/* What is sent, in bytes: what it is, the time, the thread's name, why. */
enum { HOWLATE_KIND = 8, HOWLATE_COMM = 16, HOWLATE_REASON = 128 };
struct howlate_asked {
    char kind[HOWLATE_KIND];
    uint64_t at;
    char thread[HOWLATE_COMM], reason[HOWLATE_REASON];
};

/* Copies a text, of which so many bytes count, to where all is zero. */
static inline void howlate_text(char *to, const char *text, size_t most)
{
    for (size_t at = 0; at < most && text[at]; at++)
        to[at] = text[at];
}

/* CLOCK_MONOTONIC in nanoseconds. */
static inline uint64_t howlate_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return HOWLATE_AS(uint64_t, now.tv_sec) * 1000000000u + HOWLATE_AS(uint64_t, now.tv_nsec);
}

/* A variable of the environment; NULL in a program that has more rights than whoever started it (23: AT_SECURE). */
static inline const char *howlate_variable(const char *name)
{
    return getauxval(23) ? HOWLATE_NULL : getenv(name);
}

/* A connection to the recorder at HOWLATE_RECORDER, or where it usually is; -1 where there is none, or too many ask it. */
static inline int howlate_recorder(void)
{
    const char *place = howlate_variable("HOWLATE_RECORDER");
    struct sockaddr_un at;
    int recorder = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    memset(&at, 0, sizeof at);
    at.sun_family = AF_UNIX;
    if (!place)
        place = "/run/howlate/record";
    howlate_text(at.sun_path, place, sizeof at.sun_path - 1);
    if (*place && connect(recorder, HOWLATE_AS(struct sockaddr *, HOWLATE_AS(void *, &at)), sizeof at) == 0)
        return recorder;
    close(recorder);
    return -1;
}

/* Sends it so much, with a file where that is none of -1; whether it was taken. */
static inline int howlate_send(int recorder, void *what, size_t length, int file)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } with;
    struct iovec part;
    struct msghdr message;
    memset(&with, 0, sizeof with);
    memset(&message, 0, sizeof message);
    part.iov_base = what, part.iov_len = length;
    message.msg_iov = &part, message.msg_iovlen = 1;
    if (file >= 0) {
        with.head.cmsg_level = SOL_SOCKET, with.head.cmsg_type = SCM_RIGHTS, with.head.cmsg_len = CMSG_LEN(sizeof file);
        memcpy(&with.bytes[CMSG_LEN(0)], &file, sizeof file);
        message.msg_control = &with, message.msg_controllen = sizeof with;
    }
    return sendmsg(recorder, &message, MSG_NOSIGNAL) >= 0;
}

/* Asks the recorder; see above. */
static inline int howlate_snap(const char *reason)
{
    struct howlate_asked asked;
    const int before = errno, recorder = howlate_recorder();
    int taken = 0;
    if (recorder >= 0) {
        memset(&asked, 0, sizeof asked);
        memcpy(asked.kind, "snap1", 5);
        howlate_text(asked.reason, reason, HOWLATE_REASON - 1);
        asked.at = howlate_clock();
        syscall(SYS_prctl, 16L, asked.thread, 0L, 0L, 0L); /* PR_GET_NAME */
        taken = howlate_send(recorder, &asked, sizeof asked, -1);
        close(recorder);
    }
    errno = before;
    return taken;
}
#endif
