//! Options of cyclictest, checked.

use std::path::PathBuf;

use howlate_model::{CpuSet, Span, WaitClock};

use crate::compat::Compat;
use crate::cyclictest::warning::CyclictestWarning;

/// The unit of all values printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LatencyUnit {
    /// Whole microseconds, truncated.
    #[default]
    Micros,
    /// Nanoseconds, `-N`.
    Nanos,
}

impl LatencyUnit {
    /// Converts nanoseconds to this unit, truncating.
    pub(crate) const fn convert_nanos(self, nanos: i64) -> i64 {
        match self {
            Self::Micros => nanos / 1_000,
            Self::Nanos => nanos,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Align {
    /// One after another, as they are created.
    #[default]
    No,
    /// All at one time; microseconds by which each thread starts after the one before.
    Together(i64),
    /// All on a full second, plus these microseconds.
    FullSecond(i64),
}

/// How CPUs are kept out of deep idle states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerManagement {
    /// Microseconds to hold in `/dev/cpu_dma_latency`.
    Latency(i32),
    /// Not at all, to save battery power.
    Laptop,
    /// Not at all, to measure the system as configured.
    DefaultSystem,
    /// By disabling the idle states deeper than this one; −1: all of them.
    DeepestIdleState(i64),
}

/// Value of `--policy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PolicyName {
    #[default]
    Other,
    Batch,
    Idle,
    Fifo,
    Rr,
}

impl PolicyName {
    /// Name at the top of the live screen.
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

/// `-h` and `-H`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistogramOptions {
    /// Number of buckets of one unit each, from 0.
    pub buckets: usize,
    /// Add a column for the sum of all threads.
    pub sum: bool,
}

/// Which CPUs threads are bound to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Affinity {
    /// No `-a`.
    #[default]
    Unset,
    /// `-a` without a value: the inherited mask.
    All,
    /// Threads are assigned to these CPUs round-robin.
    Set(CpuSet),
}

/// A parsed and checked command line.
#[derive(Clone, Debug, PartialEq)]
pub struct CyclictestOptions {
    /// `--compat`: version of rt-tests whose command line and output are reproduced.
    pub compat: Compat,
    /// `--howlate-out`: file for howlate's own recording.
    pub howlate_out: Option<PathBuf>,
    /// `-a`: the CPUs of the measuring threads.
    pub affinity: Affinity,
    /// `--mainaffinity`: the CPUs of the main thread.
    pub main_affinity: Option<CpuSet>,
    /// `-A`, `--secaligned`: wake-ups aligned to the second, and to each other.
    pub align: Align,
    /// `-b`, in `unit`.
    pub break_above: Option<i64>,
    /// `--tracemark`: mark and stop the kernel's trace when `-b` is exceeded.
    pub tracemark: bool,
    /// `-c`: the clock of the timers.
    pub clock: WaitClock,
    /// `--laptop`, `--default-system`, `--latency`, `--deepest-idle-state`
    pub power: PowerManagement,
    /// `-d`: difference between the intervals of consecutive threads.
    pub distance_us: i64,
    /// `-D`: how long to run.
    pub duration: Option<Span>,
    /// `-F`: a named pipe to which statistics are written.
    pub fifo: Option<PathBuf>,
    pub histogram: Option<HistogramOptions>,
    /// `--histfile`: file for the histogram instead of standard output.
    pub histfile: Option<PathBuf>,
    /// `-i`: interval of the first thread.
    pub interval_us: i64,
    /// `--json`: file for the results as JSON.
    pub json: Option<PathBuf>,
    /// `-l`: wake-ups per thread.
    pub loops: Option<u64>,
    /// `-m`: all pages locked into memory.
    pub mlockall: bool,
    /// `-N`: unit of what is printed.
    pub unit: LatencyUnit,
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
    /// `--spike`, in `unit`.
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

impl CyclictestOptions {
    /// The options of an empty command line.
    pub(crate) fn defaults(compat: Compat) -> Self {
        Self {
            compat,
            howlate_out: None,
            affinity: Affinity::Unset,
            main_affinity: None,
            align: Align::No,
            break_above: None,
            tracemark: false,
            clock: WaitClock::Monotonic,
            power: PowerManagement::Latency(0),
            distance_us: 0,
            duration: None,
            fifo: None,
            histogram: None,
            histfile: None,
            interval_us: 1_000,
            json: None,
            loops: None,
            mlockall: false,
            unit: LatencyUnit::Micros,
            oscope: 1,
            policy: PolicyName::Other,
            posix_timers: false,
            priority: 0,
            priospread: false,
            quiet: false,
            refresh_on_max: false,
            relative: false,
            resolution: false,
            smi: false,
            smp: false,
            spike_above: None,
            spike_nodes: 1_024,
            system: false,
            threads: 1,
            verbose: false,
        }
    }

    /// Interval of a thread, in microseconds.
    pub fn interval_of(&self, thread: usize) -> i64 {
        let index = i64::try_from(thread).unwrap_or(i64::MAX);
        self.interval_us.saturating_add(self.distance_us.saturating_mul(index))
    }

    /// Priority of a thread; 0 if the policy has none.
    pub fn priority_of(&self, thread: usize) -> u32 {
        if !self.policy.is_realtime() {
            return 0;
        }
        let steps = if self.priospread { u32::try_from(thread).unwrap_or(u32::MAX) } else { 0 };
        self.priority.saturating_sub(steps).max(1)
    }
}

/// A valid command line.
#[derive(Clone, Debug, PartialEq)]
pub struct CyclictestRequest {
    pub options: CyclictestOptions,
    /// Printed on standard error before the run.
    pub warnings: Vec<CyclictestWarning>,
}

/// Why the program ends without measuring. The usage is printed on standard output except for `Fatal`.
#[derive(Clone, Debug, PartialEq)]
pub enum CyclictestEarlyExit {
    /// `--help`. Status 0.
    Help(Compat),
    /// A message of `getopt_long`, without the program name. Status 0.
    GetoptError(Compat, String),
    /// Invalid values or combinations. Status 1.
    Invalid(Compat, Vec<CyclictestWarning>),
    /// An error for which the original prints one line and no usage. Status 1.
    Fatal(CyclictestWarning),
}
