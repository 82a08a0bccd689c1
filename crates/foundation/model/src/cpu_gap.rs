//! Gaps in the CPU time of a spinning thread, and kernel events during them.

use std::sync::Arc;

use crate::{MonotonicTime, Span};

/// A stretch in which a spinning thread did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuGap {
    /// Number of the CPU.
    pub cpu: u32,
    /// Last clock reading before the gap.
    pub from: MonotonicTime,
    pub length: Span,
}

impl CpuGap {
    pub const fn until(&self) -> MonotonicTime {
        self.from.plus(self.length)
    }
}

/// What had the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GapKind {
    /// Another thread.
    Thread,
    /// An interrupt, of a device, a timer or another CPU.
    Interrupt,
    /// A softirq, after an interrupt.
    Softirq,
    /// A non-maskable interrupt.
    Nmi,
    /// The spinning thread's own page fault.
    PageFault,
    /// The CPU was idle: the spinning thread was not allowed to run, as by real-time throttling.
    Idle,
    /// The firmware: system management interrupts were counted.
    Smi,
    /// No kernel event: the hypervisor or the firmware.
    NoEvent,
    /// Not traced, or events are missing.
    NotTraced,
}

impl GapKind {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::Interrupt => "interrupt",
            Self::Softirq => "softirq",
            Self::Nmi => "nmi",
            Self::PageFault => "page_fault",
            Self::Idle => "idle",
            Self::Smi => "smi",
            Self::NoEvent => "no_event",
            Self::NotTraced => "not_traced",
        }
    }
}

/// What had the CPU.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GapCause {
    pub kind: GapKind,
    /// Comm of a thread, or the kernel's name of an interrupt or softirq; otherwise empty.
    pub name: Arc<str>,
}

impl GapCause {
    pub fn unnamed(kind: GapKind) -> Self {
        Self { kind, name: Arc::default() }
    }
}

/// A change of the CPU's occupant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpuChange {
    /// Events before this one are missing.
    Missed,
    /// An interrupt or softirq begins.
    Enters(GapCause),
    /// The innermost interrupt or softirq of this kind ends.
    Leaves(GapKind),
    /// End of a non-maskable interrupt, with its duration.
    Nmi(Span),
    /// A page fault of the running thread.
    PageFault,
    /// Another thread gets the CPU; 0: the idle one.
    Runs { tid: u32, name: Arc<str> },
}

/// An event that changes a CPU's occupant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuEvent {
    pub at: MonotonicTime,
    pub cpu: u32,
    pub what: CpuChange,
}

/// Totals counted by a spinning thread, including gaps that were lost on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpinCount {
    pub cpu: u32,
    pub tid: u32,
    /// From its first reading of the clock to its last.
    pub lasted: Span,
    /// How many times it read the clock.
    pub turns: u64,
    /// The shortest time between two readings.
    pub shortest: Span,
    /// Gaps above the threshold.
    pub gaps: u64,
    /// Total time in gaps.
    pub total: Span,
    pub longest: Span,
    /// Gaps that did not fit the ring buffer.
    pub lost: u64,
    /// Time ready without a CPU, from the kernel's accounting.
    pub waited: Option<Span>,
    /// Whether its affinity changed: its CPU went offline, or another program changed it.
    pub moved: bool,
}
