/* Marks a periodic loop, so that `howlate watch -- ./program` measures each of its turns.
 *
 *     struct howlate loop = howlate_loop("control", 1000000);     // its name; its period in nanoseconds
 *     for (;;) {
 *         wait_for_the_next_turn();                               // clock_nanosleep, a timerfd, whatever it is
 *         howlate_wake(&loop);
 *         work();
 *         howlate_done(&loop);
 *     }
 * Where the program knows the time that it asked for: howlate_wake_at(&loop, nanoseconds of CLOCK_MONOTONIC).
 * Under howlate, a turn costs two readings of a clock and an entry in a ring of shared memory: no system call, no lock.
 * Without howlate, each call is one branch. A loop belongs to one thread at a time; a fork gives each side its own.
 * In C++, howlate::turn turn{loop}; begins one that is done where `turn` ends, whichever way that is left.
 * Linux, C99 or C++17, GCC or clang; nothing to link. With -std=c99, include it before the C library's headers.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef HOWLATE_H
#define HOWLATE_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#ifdef __cplusplus
#define HOWLATE_AS(type, value) static_cast<type>(value)
#else
#define HOWLATE_AS(type, value) ((type)(value))
extern long syscall(long number, ...); /* POSIX alone does not declare it */
#endif
/* The memory: a head, then rings. Sizes in bytes; places in words of 64 bits, from the head's or the ring's first. */
enum { HOWLATE_FIRST = 65536, HOWLATE_RING = 131072, HOWLATE_RINGS = 64, HOWLATE_LOCKED = 16, HOWLATE_CAPACITY = 4096 };
enum { HOWLATE_MAGIC = 64, HOWLATE_TAKEN = 65, HOWLATE_TICKS = 66, HOWLATE_THREAD = 0, HOWLATE_PERIOD = 1 };
enum { HOWLATE_NAME = 2, HOWLATE_LETTERS = 32, HOWLATE_WRITTEN = 8, HOWLATE_READ = 16, HOWLATE_LOST = 24, HOWLATE_TURNS = 64 };
struct howlate {
    uint64_t **own; /* a page that a fork empties: where this process has its ring; NULL without howlate */
    char name[HOWLATE_LETTERS];
    uint64_t period, expected, woke, written, read, ticks;
#ifdef __cplusplus
    class turn;
#endif
};

/* The time; in ticks of the processor where howlate says that CLOCK_MONOTONIC is made of them. */
static inline uint64_t howlate_now(uint64_t ticks)
{
    struct timespec now;
#ifdef __x86_64__
    if (ticks)
        return __builtin_ia32_rdtsc();
#endif
    (void)ticks;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return HOWLATE_AS(uint64_t, now.tv_sec) * 1000000000u + HOWLATE_AS(uint64_t, now.tv_nsec);
}

static inline uint64_t *howlate_map(size_t length, int flags, int file, uint64_t offset)
{
    void *at = mmap(NULL, length, PROT_READ | PROT_WRITE, flags, file, HOWLATE_AS(off_t, offset));
    return at == MAP_FAILED ? NULL : HOWLATE_AS(uint64_t *, at);
}

/* Takes a ring of the memory behind `file`; NULL when none is left, or that is no memory of howlate. */
static inline uint64_t *howlate_ring(struct howlate *loop, int file)
{
    const off_t length = HOWLATE_FIRST + HOWLATE_AS(off_t, HOWLATE_RINGS + HOWLATE_LOCKED) * HOWLATE_RING;
    uint64_t *head = lseek(file, 0, SEEK_END) == length ? howlate_map(4096, MAP_SHARED, file, 0) : NULL;
    uint64_t *ring = NULL, number, page;
    if (head && head[HOWLATE_MAGIC] == UINT64_C(0x316574616c776f68)) {
        loop->ticks = head[HOWLATE_TICKS];
        number = __atomic_fetch_add(&head[HOWLATE_TAKEN], 1, __ATOMIC_RELAXED);
        if (number < HOWLATE_RINGS)
            ring = howlate_map(HOWLATE_RING, MAP_SHARED, file, HOWLATE_FIRST + number * HOWLATE_RING);
    }
    for (page = 0; ring && page < HOWLATE_RING / 8; page += 512)
        __atomic_store_n(&ring[page], 0, __ATOMIC_RELAXED); /* no turn is to meet a page fault */
    if (head)
        munmap(head, 4096);
    return ring;
}

/* Joins the howlate that started this program; where there is none, the loop stays without. Again after a fork. */
static inline void howlate_join(struct howlate *loop)
{
    const char *file = getenv("HOWLATE_LOOPS");
    uint64_t **own = loop->own, *ring = file ? howlate_ring(loop, atoi(file)) : NULL;
    loop->own = NULL;
    if (ring && !own) /* 0x20, 18: MAP_ANONYMOUS, MADV_WIPEONFORK, which POSIX alone does not declare */
        own = HOWLATE_AS(uint64_t **, HOWLATE_AS(void *, howlate_map(4096, MAP_PRIVATE | 0x20, -1, 0)));
    if (!ring || !own || syscall(SYS_madvise, own, HOWLATE_AS(size_t, 4096), 18) != 0)
        return;
    memcpy(&ring[HOWLATE_NAME], loop->name, HOWLATE_LETTERS);
    ring[HOWLATE_PERIOD] = loop->period;
    loop->written = loop->read = loop->woke = 0;
    own[0] = ring, loop->own = own;
}

/* Hands on the turn that began last, or counts it as lost where the ring is full. */
static inline void howlate_put(struct howlate *loop, uint64_t done)
{
    uint64_t *ring = loop->own[0], *turn;
    if (!ring) /* forked meanwhile: that ring is the parent's, and so was the turn */
        howlate_join(loop);
    if (!ring)
        return;
    if (!loop->written) /* from now on howlate looks at the ring */
        __atomic_store_n(&ring[HOWLATE_THREAD], HOWLATE_AS(uint64_t, getpid()) << 32 | HOWLATE_AS(uint64_t, syscall(SYS_gettid)), __ATOMIC_RELEASE);
    if (loop->written - loop->read >= HOWLATE_CAPACITY)
        loop->read = __atomic_load_n(&ring[HOWLATE_READ], __ATOMIC_ACQUIRE);
    if (loop->written - loop->read >= HOWLATE_CAPACITY) {
        __atomic_store_n(&ring[HOWLATE_LOST], ring[HOWLATE_LOST] + 1, __ATOMIC_RELAXED);
    } else {
        turn = &ring[HOWLATE_TURNS + loop->written % HOWLATE_CAPACITY * 3];
        turn[0] = loop->expected, turn[1] = loop->woke, turn[2] = done;
        __atomic_store_n(&ring[HOWLATE_WRITTEN], ++loop->written, __ATOMIC_RELEASE);
    }
    loop->woke = 0;
}

/* A loop of this name, of which 31 bytes count, that is to turn every `period` nanoseconds; 0: at no fixed distance. */
static inline struct howlate howlate_loop(const char *name, uint64_t period)
{
    struct howlate loop;
    memset(&loop, 0, sizeof loop);
    for (size_t at = 0; at + 1 < HOWLATE_LETTERS && name[at]; at++)
        loop.name[at] = name[at];
    loop.period = period;
    howlate_join(&loop);
    return loop;
}

/* A turn begins that was to begin at `expected`, in nanoseconds of CLOCK_MONOTONIC; 0: as its rhythm has it. */
static inline void howlate_wake_at(struct howlate *loop, uint64_t expected)
{
    if (!loop->own)
        return;
    uint64_t now = howlate_now(loop->ticks);
    if (loop->woke)
        howlate_put(loop, 0);
    loop->expected = expected, loop->woke = now;
}

/* The same without a time. */
static inline void howlate_wake(struct howlate *loop) { howlate_wake_at(loop, 0); }

/* Its work is done. */
static inline void howlate_done(struct howlate *loop)
{
    if (loop->own && loop->woke)
        howlate_put(loop, howlate_now(loop->ticks));
}

#ifdef __cplusplus
/* A turn from here to the end of its scope: howlate::turn turn{loop}, or turn{loop, expected}. */
class howlate::turn {
public:
    explicit turn(howlate &of, uint64_t expected = 0) : loop(of) { howlate_wake_at(&loop, expected); }
    ~turn() { howlate_done(&loop); }
    turn(const turn &) = delete;
    turn &operator=(const turn &) = delete;

private:
    howlate &loop;
};
#endif
#endif
