/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Occupants of a CPU. `crates/tracing/trace/src/occupant.rs` reads them for all programs here. */
#pragma once

/* URGENT is a thread of real-time priority, THREAD any other; SERVER is one that the kernel runs ahead of real-time ones. LAZY is a
 * THREAD that goes on although it was asked, lazily, to leave the CPU. */
enum occupant_kind { THREAD, INTERRUPT, SOFTIRQ, TICK, UNSEEN, SERVER, URGENT, LAZY };
