/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Occupants of a CPU. `crates/tracing/trace/src/occupant.rs` reads them for all programs here. */
#pragma once

/* URGENT is a thread of real-time priority, THREAD any other; SERVER is one that the kernel runs ahead of real-time ones. LAZY is a
 * THREAD that goes on after a lazy request to leave the CPU. */
enum occupant_kind { THREAD, INTERRUPT, SOFTIRQ, TICK, UNSEEN, SERVER, URGENT, LAZY };

#define OCCUPANT_KIND 0xff /* of an event's kind; the rest is added to it */
