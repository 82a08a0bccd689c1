/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What can have a CPU. `crates/tracing/trace/src/occupant.rs` reads it for every program here. */
#pragma once

/* URGENT is a thread of real-time priority, THREAD any other; SERVER is one that the kernel lets run ahead of real-time ones. */
enum occupant_kind { THREAD, INTERRUPT, SOFTIRQ, TICK, UNSEEN, SERVER, URGENT };
