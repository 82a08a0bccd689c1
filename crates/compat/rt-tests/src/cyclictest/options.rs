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
    /// Latencies in nanoseconds, `-N`.
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
    /// These CPUs, one thread each in turn.
    Set(CpuSet),
}

/// Everything that was asked for, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `--compat`: the version of rt-tests whose dialect is spoken.
    pub compat: Compat,
    /// `--howlate-out`: where howlate's own recording goes.
    pub howlate_out: Option<PathBuf>,
    /// `-a`: the CPUs of the measuring threads.
    pub affinity: Affinity,
    /// `--mainaffinity`: the CPUs of the main thread.
    pub main_affinity: Option<CpuSet>,
    /// `-A`, `--secaligned`: wake-ups aligned to the second, and to each other.
    pub align: Align,
    /// `-b`, in the unit printed
    pub break_above: Option<i64>,
    /// `--tracemark`: a mark in the kernel's trace where `-b` breaks.
    pub tracemark: bool,
    /// `-c`: the clock of the timers.
    pub clock: WaitClock,
    /// `--laptop`, `--default-system`, `--latency`, `--deepest-idle-state`
    pub power: Power,
    /// `-d`, in microseconds
    pub distance_us: i64,
    /// `-D`: how long to run.
    pub duration: Option<Span>,
    /// `-F`: a named pipe to which statistics are written.
    pub fifo: Option<PathBuf>,
    /// `-h`, `-H`: buckets of 1 µs below this limit.
    pub histogram: Option<HistogramAsked>,
    /// `--histfile`: where the histogram goes instead of standard output.
    pub histfile: Option<PathBuf>,
    /// `-i`, in microseconds
    pub interval_us: i64,
    /// `--json`: where the result goes as JSON.
    pub json: Option<PathBuf>,
    /// `-l`: wake-ups per thread.
    pub loops: Option<u64>,
    /// `-m`: all pages locked into memory.
    pub mlockall: bool,
    /// `-N`: unit of what is printed.
    pub unit: Unit,
    /// `-o`: oscilloscope mode, one line for this many wake-ups.
    pub oscope: u64,
    /// `--policy`: scheduling policy of the measuring threads.
    pub policy: PolicyName,
    /// `-x`: POSIX timers and signals instead of `clock_nanosleep`.
    pub posix_timers: bool,
    /// `-p`: priority of the first thread.
    pub priority: u32,
    /// `--priospread`: each further thread one priority lower.
    pub priospread: bool,
    /// `-q`: a summary at the end only.
    pub quiet: bool,
    /// `-M`: the screen is refreshed at a new maximum only.
    pub refresh_on_max: bool,
    /// `-r`: relative timers instead of absolute ones.
    pub relative: bool,
    /// `-R`: the clock's resolution is measured and printed.
    pub resolution: bool,
    /// `--smi`: interrupts of the firmware are counted.
    pub smi: bool,
    /// `-S`: one thread per CPU, all of one priority.
    pub smp: bool,
    /// `--spike`, in the unit printed
    pub spike_above: Option<i64>,
    /// `--spike-nodes`: spikes kept at most.
    pub spike_nodes: usize,
    /// `-s`: `nanosleep` and POSIX `setitimer`.
    pub system: bool,
    /// `-t`: number of measuring threads.
    pub threads: usize,
    /// `-v`: each wake-up on a line.
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
