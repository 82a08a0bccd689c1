/* Marks a periodic loop, so that `howlate watch -- ./program` measures each of its turns, and a running `howlate record` keeps those
 * that miss their deadline: that were not done a period after they were due.
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
 * Without howlate, each call is one branch, and howlate_loop three system calls. A loop belongs to one thread at a time; a fork gives each side its own.
 * In C++, howlate::turn turn{loop}; begins one that is done where `turn` ends, whichever way that is left.
 * howlate_span.h names parts of a turn, so that a long one says where it was long; howlate_snap.h, which has to be beside this
 * file, has howlate_snap("why"). Linux, C99 or C++11, GCC or clang; nothing to link. With -std=c99, include it before the C library's headers.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef HOWLATE_H
#define HOWLATE_H
#include "howlate_snap.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
/* The memory: a head, then rings. Sizes in bytes; places in words of 64 bits, from the head's or the ring's first. */
enum { HOWLATE_FIRST = 65536, HOWLATE_RING = 131072, HOWLATE_RINGS = 64, HOWLATE_LOCKED = 16, HOWLATE_CAPACITY = 4096 };
enum { HOWLATE_MAGIC = 64, HOWLATE_TAKEN = 65, HOWLATE_TICKS = 66, HOWLATE_SPANS = 68, HOWLATE_THREAD = 0, HOWLATE_PERIOD = 1 };
enum { HOWLATE_NAME = 2, HOWLATE_LETTERS = 32, HOWLATE_WRITTEN = 8, HOWLATE_READ = 16, HOWLATE_LOST = 24, HOWLATE_TURNS = 64 };
#define HOWLATE_LENGTH (HOWLATE_FIRST + HOWLATE_AS(off_t, HOWLATE_RINGS + HOWLATE_LOCKED) * HOWLATE_RING)
#define HOWLATE_KNOWN UINT64_C(0x316574616c776f68)
struct howlate {
    uint64_t **own; /* a page that a fork empties: where this process has its ring; NULL without howlate */
    char name[HOWLATE_LETTERS];
    uint64_t period, expected, woke, written, read, ticks;
#ifdef __cplusplus
    class turn;
    class span; /* of howlate_span.h */
#endif
};

/* The time; in ticks of the processor where howlate says that CLOCK_MONOTONIC is made of them. */
static inline uint64_t howlate_now(uint64_t ticks)
{
#ifdef __x86_64__
    if (ticks)
        return __builtin_ia32_rdtsc();
#endif
    (void)ticks;
    return howlate_clock();
}

static inline uint64_t *howlate_map(size_t length, int flags, int file, uint64_t offset)
{
    void *at = mmap(HOWLATE_NULL, length, PROT_READ | PROT_WRITE, flags, file, HOWLATE_AS(off_t, offset));
    return at == MAP_FAILED ? HOWLATE_NULL : HOWLATE_AS(uint64_t *, at);
}

/* The head of the memory behind `file`; NULL where that has not its length. */
static inline uint64_t *howlate_head(int file)
{
    struct stat found;
    const int is_long = fstat(file, &found) == 0 && found.st_size == HOWLATE_LENGTH;
    return is_long ? howlate_map(4096, MAP_SHARED, file, 0) : HOWLATE_NULL;
}

/* What this process has handed to a recorder; one for all files of a program. */
__attribute__((weak)) int howlate_handed = -1;

/* The memory of the howlate that started this program; or else of this process, handed to whoever records; or -1. */
static inline int howlate_memory(void)
{
    const char *started = howlate_variable("HOWLATE_LOOPS");
    int file = started ? atoi(started) : __atomic_load_n(&howlate_handed, __ATOMIC_ACQUIRE), recorder = -1, other = -1;
    char kind[HOWLATE_KIND] = "loops1";
    uint64_t *head = HOWLATE_NULL;
    if (started || file >= 0 || (recorder = howlate_recorder()) < 0)
        return file;
    file = HOWLATE_AS(int, syscall(SYS_memfd_create, "howlate", 3L)); /* MFD_CLOEXEC | MFD_ALLOW_SEALING */
    if (ftruncate(file, HOWLATE_LENGTH) == 0 && (head = howlate_head(file)) != HOWLATE_NULL) {
        head[HOWLATE_SPANS] = 1, head[HOWLATE_MAGIC] = HOWLATE_KNOWN;
        munmap(head, 4096);
    }
    /* 1033, 7: F_ADD_SEALS; SEAL, SHRINK and GROW. The connection stays: by its end the recorder knows that of the program. */
    if (head && fcntl(file, 1033, 7) == 0 && howlate_send(recorder, kind, sizeof kind, file) &&
        __atomic_compare_exchange_n(&howlate_handed, &other, file, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return file;
    close(recorder);
    close(file);
    return other;
}

/* Takes a ring of the memory behind `file`; NULL when none is left, or that is no memory of howlate. */
static inline uint64_t *howlate_ring(struct howlate *loop, int file)
{
    uint64_t *head = howlate_head(file), *ring = HOWLATE_NULL, number, page;
    if (head && head[HOWLATE_MAGIC] == HOWLATE_KNOWN) {
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

/* Joins howlate; where there is none, the loop stays without. Again after a fork. */
static inline void howlate_join(struct howlate *loop)
{
    const int file = howlate_memory();
    uint64_t **own = loop->own, *ring = file >= 0 ? howlate_ring(loop, file) : HOWLATE_NULL;
    loop->own = HOWLATE_NULL;
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
    howlate_text(loop.name, name, HOWLATE_LETTERS - 1);
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
