/* Names parts of a turn of a marked loop, so that a long turn says where it was long.
 *
 *     struct howlate loop = howlate_loop("control", 1000000);
 *     struct howlate_span plan = howlate_span(&loop, "plan");     // once; at most 16 names per loop
 *     ...
 *     howlate_wake(&loop);
 *     howlate_span_begin(&plan);
 *     make_a_plan();
 *     howlate_span_end(&plan);
 *     act();
 *     howlate_done(&loop);
 *
 * What lies between howlate_wake and howlate_done counts, all of a name added up for each turn; spans may lie in one another.
 * In C++, howlate::span here{plan}; is one that ends where `here` does.
 * A span costs as much as a turn: two readings of a clock and an entry in the ring; without howlate, a branch each.
 * An older howlate does not read spans; they then cost a branch as well. A span belongs to its loop's thread.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef HOWLATE_SPAN_H
#define HOWLATE_SPAN_H
#include "howlate.h"
/* The memory, beside that of howlate.h: behind the turns, names and what was measured. */
enum { HOWLATE_SPAN_WRITTEN = 9, HOWLATE_SPAN_LOST = 10, HOWLATE_SPAN_READ = 17 };
enum { HOWLATE_SPAN_NAMES = 12352, HOWLATE_SPAN_KINDS = 16, HOWLATE_SPAN_TIMES = 12480, HOWLATE_SPAN_CAPACITY = 1952 };
struct howlate_span {
    struct howlate *loop;
    uint64_t *ring; /* the one in which `number` stands for its name */
    uint64_t number, began;
    char name[HOWLATE_LETTERS];
};

/* Finds its name in the ring, or the next free place. The place behind the last keeps the first name that found none. */
static inline void howlate_span_join(struct howlate_span *span)
{
    const int file = howlate_memory();
    uint64_t *head = file >= 0 ? howlate_head(file) : HOWLATE_NULL, at;
    span->ring = span->loop->own[0], span->number = HOWLATE_SPAN_KINDS;
    for (at = 0; head && head[HOWLATE_SPANS] && at <= HOWLATE_SPAN_KINDS; at++) {
        uint64_t *place = &span->ring[HOWLATE_SPAN_NAMES + at * (HOWLATE_LETTERS / 8)];
        if (!*place)
            memcpy(place, span->name, HOWLATE_LETTERS);
        if (memcmp(place, span->name, HOWLATE_LETTERS) == 0) {
            span->number = at;
            break;
        }
    }
    if (head)
        munmap(head, 4096);
}

/* The time at which a span begins; 0 where nobody measures it. */
static inline uint64_t howlate_span_now(struct howlate_span *span)
{
    struct howlate *loop = span->loop;
    if (!loop->own || !loop->own[0])
        return 0;
    if (span->ring != loop->own[0])
        howlate_span_join(span);
    return span->number < HOWLATE_SPAN_KINDS ? howlate_now(loop->ticks) : 0;
}

/* Hands on what began then and ends now, or counts it as lost where there is no room. */
static inline void howlate_span_put(struct howlate_span *span, uint64_t began)
{
    uint64_t *ring = span->ring, *entry, written;
    if (!began || ring != span->loop->own[0]) /* forked meanwhile: that was the parent's */
        return;
    written = ring[HOWLATE_SPAN_WRITTEN];
    if (written - __atomic_load_n(&ring[HOWLATE_SPAN_READ], __ATOMIC_ACQUIRE) >= HOWLATE_SPAN_CAPACITY) {
        __atomic_store_n(&ring[HOWLATE_SPAN_LOST], ring[HOWLATE_SPAN_LOST] + 1, __ATOMIC_RELAXED);
        return;
    }
    entry = &ring[HOWLATE_SPAN_TIMES + written % HOWLATE_SPAN_CAPACITY * 2];
    entry[0] = began, entry[1] = (howlate_now(span->loop->ticks) - began) << 8 | span->number;
    __atomic_store_n(&ring[HOWLATE_SPAN_WRITTEN], written + 1, __ATOMIC_RELEASE);
}

#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" /* the type has the same name, as in C */
#endif
/* A span of this name, of which 31 bytes count, in turns of `loop`, which has to stay where it is. */
static inline struct howlate_span howlate_span(struct howlate *loop, const char *name)
{
    struct howlate_span span;
    memset(&span, 0, sizeof span);
    howlate_text(span.name, name, HOWLATE_LETTERS - 1);
    if (!span.name[0])
        memcpy(span.name, "span", 4);
    span.loop = loop;
    if (loop->own && loop->own[0])
        howlate_span_join(&span);
    return span;
}
#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

/* It begins. One that did not end has not been. */
static inline void howlate_span_begin(struct howlate_span *span) { span->began = howlate_span_now(span); }

/* It ends. */
static inline void howlate_span_end(struct howlate_span *span)
{
    howlate_span_put(span, span->began);
    span->began = 0;
}

#ifdef __cplusplus
/* A span from here to the end of its scope: howlate::span here{plan}. */
class howlate::span {
public:
    explicit span(struct howlate_span &name) : of(name), began(howlate_span_now(&of)) {}
    ~span() { howlate_span_put(&of, began); }
    span(const span &) = delete;
    span &operator=(const span &) = delete;

private:
    struct howlate_span &of;
    uint64_t began;
};
#endif
#endif
