//! Upper bounds for the durations of the kernel's own activities.

use howlate_model::Span;

/// An interrupt that reaches a CPU at work takes this long at most without anything being in its way; the same bound
/// as that of the kernel's own analysis (`rtla timerlat --auto-analysis`), which looks for reasons above 10 µs.
pub(super) const PLAIN_DELIVERY: Span = Span::from_micros(10);

/// A part of the kernel's own way takes less than this. All of that way together takes 55 µs at most in 100 million wake-ups of
/// a machine of OSADL's, and the safe bound of a desktop's is 98 µs (de Oliveira and others, "Demystifying the Real-Time Linux
/// Scheduling Latency", ECRTS 2020, <https://doi.org/10.4230/LIPIcs.ECRTS.2020.9>).
pub(super) const OWN_WAY: Span = Span::from_micros(100);

/// A CPU leaves idle within this. The deepest idle state of a server or desktop that Linux lists takes 2.6 ms to leave (C10 of
/// Haswell, `intel_idle.c`), and a guest's CPU that waits has at most its host's to leave.
pub(super) const LEAVING_IDLE: Span = Span::from_millis(3);

/// After so long the kernel leaves the rest of its softirqs to a thread: `MAX_SOFTIRQ_TIME` of its `softirq.c`. A handler, which
/// keeps all other interrupts waiting, is to be done sooner.
pub(super) const SOFTIRQS: Span = Span::from_millis(2);

/// A CPU that has work and another thread that waits for it takes an interrupt within this: its tick, which comes every 10 ms at
/// the least (`CONFIG_HZ=100`), and a tenth for its way.
pub(super) const TICK: Span = Span::from_millis(11);
