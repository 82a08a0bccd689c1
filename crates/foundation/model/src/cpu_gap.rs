//! Time in which a CPU did not run the thread that asked for all of it, and what the kernel did meanwhile.

use std::sync::Arc;

use crate::{MonotonicTime, Span};

/// A stretch in which a spinning thread did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuGap {
    /// Number of the CPU.
    pub cpu: u32,
    /// When the thread last ran.
    pub from: MonotonicTime,
    /// For how long it did not.
    pub length: Span,
}

impl CpuGap {
    /// When the thread ran again.
    pub const fn until(&self) -> MonotonicTime {
        self.from.plus(self.length)
    }
}

/// What kind of thing had the CPU.
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
    /// Nobody: the spinning thread was kept from running, as by real-time throttling.
    Idle,
    /// The firmware: system management interrupts were counted.
    Smi,
    /// Nothing that the kernel has an event for: the hypervisor, or the firmware.
    NoEvent,
    /// Nobody looked, or what was seen is not all.
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
    /// What kind of thing.
    pub kind: GapKind,
    /// A thread's comm, an interrupt's or softirq's name as the kernel has it; empty of others.
    pub name: Arc<str>,
}

impl GapCause {
    /// One that has no name.
    pub fn unnamed(kind: GapKind) -> Self {
        Self { kind, name: Arc::default() }
    }
}

/// What an event says of who has a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpuChange {
    /// Events before this one are missing.
    Missed,
    /// An interrupt or softirq begins.
    Enters(GapCause),
    /// The innermost interrupt or softirq of this kind ends.
    Leaves(GapKind),
    /// A non-maskable interrupt is over, which took so long.
    Nmi(Span),
    /// The thread that has the CPU meets a page that is not there.
    PageFault,
    /// Another thread gets the CPU; 0: the idle one.
    Runs {
        /// Its id.
        tid: u32,
        /// Its comm.
        name: Arc<str>,
    },
}

/// Something that changes who has a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuEvent {
    /// When it happened.
    pub at: MonotonicTime,
    /// Where.
    pub cpu: u32,
    /// What.
    pub what: CpuChange,
}

/// What a spinning thread counted itself, whether or not each gap could be handed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpinCount {
    /// Number of its CPU.
    pub cpu: u32,
    /// Its id.
    pub tid: u32,
    /// From its first reading of the clock to its last.
    pub lasted: Span,
    /// How many times it read the clock.
    pub turns: u64,
    /// The shortest time between two readings.
    pub shortest: Span,
    /// Gaps above the threshold.
    pub gaps: u64,
    /// What they took together.
    pub total: Span,
    /// The longest one.
    pub longest: Span,
    /// Gaps that could not be handed on.
    pub lost: u64,
    /// How long the thread was ready meanwhile, and had no CPU, by the kernel's account.
    pub waited: Option<Span>,
    /// Whether it may run elsewhere at the end: its CPU went offline, or somebody changed its affinity.
    pub moved: bool,
}
