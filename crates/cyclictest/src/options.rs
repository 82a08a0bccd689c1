//! What was asked for, typed.

use std::path::PathBuf;

use howlate_model::{CpuSet, Span, WaitClock};

use crate::compat::Compat;

/// The unit of all values printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Whole microseconds, cut towards zero.
    #[default]
    Micros,
    /// Nanoseconds.
    Nanos,
}

impl Unit {
    /// Nanoseconds in this unit.
    pub(crate) const fn of_nanos(self, nanos: i64) -> i64 {
        match self {
            Self::Micros => nanos / 1_000,
            Self::Nanos => nanos,
        }
    }
}

/// When threads start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Align {
    /// One after another, as they come.
    #[default]
    No,
    /// All at one moment; microseconds that each comes after the one before.
    Together(i64),
    /// All on a full second; microseconds after it.
    FullSecond(i64),
}

/// How CPUs are kept from sleeping deeply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    /// Microseconds to hold in `/dev/cpu_dma_latency`.
    Latency(i32),
    /// Not at all, to save battery.
    Laptop,
    /// Not at all, to see the system as it is.
    DefaultSystem,
    /// By disabling the idle states above this one; −1: all of them.
    DeepestIdleState(i64),
}

/// The policy as typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PolicyName {
    /// `SCHED_OTHER`
    #[default]
    Other,
    /// `SCHED_BATCH`
    Batch,
    /// `SCHED_IDLE`
    Idle,
    /// `SCHED_FIFO`
    Fifo,
    /// `SCHED_RR`
    Rr,
}

impl PolicyName {
    /// As printed in front of the live screen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Other => "other",
            Self::Batch => "batch",
            Self::Idle => "idle",
            Self::Fifo => "fifo",
            Self::Rr => "rr",
        }
    }

    /// Whether the policy has priorities.
    pub const fn is_realtime(self) -> bool {
        matches!(self, Self::Fifo | Self::Rr)
    }
}

/// A histogram to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistogramAsked {
    /// Buckets of one unit each, from 0.
    pub buckets: usize,
    /// Whether to add a column for the sum of all threads.
    pub sum: bool,
}

/// Which CPUs threads are bound to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Affinity {
    /// None asked for.
    #[default]
    Unset,
    /// `-a` alone: all that may be used.
    All,
    /// These.
    Set(CpuSet),
}

/// Everything that was asked for, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `--compat`
    pub compat: Compat,
    /// `--howlate-out`
    pub howlate_out: Option<PathBuf>,
    /// `-a`
    pub affinity: Affinity,
    /// `--mainaffinity`
    pub main_affinity: Option<CpuSet>,
    /// `-A`, `--secaligned`
    pub align: Align,
    /// `-b`, in the unit printed
    pub break_above: Option<i64>,
    /// `--tracemark`
    pub tracemark: bool,
    /// `-c`
    pub clock: WaitClock,
    /// `--laptop`, `--default-system`, `--latency`, `--deepest-idle-state`
    pub power: Power,
    /// `-d`, in microseconds
    pub distance_us: i64,
    /// `-D`
    pub duration: Option<Span>,
    /// `-F`
    pub fifo: Option<PathBuf>,
    /// `-h`, `-H`
    pub histogram: Option<HistogramAsked>,
    /// `--histfile`
    pub histfile: Option<PathBuf>,
    /// `-i`, in microseconds
    pub interval_us: i64,
    /// `--json`
    pub json: Option<PathBuf>,
    /// `-l`
    pub loops: Option<u64>,
    /// `-m`
    pub mlockall: bool,
    /// `-N`
    pub unit: Unit,
    /// `-o`
    pub oscope: u64,
    /// `--policy`
    pub policy: PolicyName,
    /// `-x`
    pub posix_timers: bool,
    /// `-p`
    pub priority: u32,
    /// `--priospread`
    pub priospread: bool,
    /// `-q`
    pub quiet: bool,
    /// `-M`
    pub refresh_on_max: bool,
    /// `-r`
    pub relative: bool,
    /// `-R`
    pub resolution: bool,
    /// `--smi`
    pub smi: bool,
    /// `-S`
    pub smp: bool,
    /// `--spike`, in the unit printed
    pub spike_above: Option<i64>,
    /// `--spike-nodes`
    pub spike_nodes: usize,
    /// `-s`
    pub system: bool,
    /// `-t`
    pub threads: usize,
    /// `-v`
    pub verbose: bool,
}

impl Options {
    /// The interval of one thread, in microseconds.
    pub fn interval_of(&self, thread: usize) -> i64 {
        let further = i64::try_from(thread).unwrap_or(i64::MAX);
        self.interval_us.saturating_add(self.distance_us.saturating_mul(further))
    }

    /// The priority of one thread; 0 where the policy has none.
    pub fn priority_of(&self, thread: usize) -> u32 {
        if !self.policy.is_realtime() {
            return 0;
        }
        let steps = if self.priospread { u32::try_from(thread).unwrap_or(u32::MAX) } else { 0 };
        self.priority.saturating_sub(steps).max(1)
    }
}
