//! Measurements imported from other programs.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Span;

/// A program whose results howlate reads, and what of it they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Foreign")]
pub enum ForeignTool {
    /// cyclictest: latencies of periodic threads.
    Cyclictest,
    /// jitterdebugger: the same.
    Jitterdebugger,
    /// `stress-ng --cyclic`: latencies of relative sleeps.
    StressNg,
    /// `rtla timerlat`: from the timer's expiry to its handler.
    TimerlatIrq,
    /// `rtla timerlat`: from the timer's expiry to the thread.
    TimerlatThread,
    /// `rtla timerlat -u`: from the timer's expiry to the return to user space.
    TimerlatUser,
    /// `rtla osnoise`: how long a spinning thread was interrupted.
    Osnoise,
    /// oslat: gaps that a spinning thread finds.
    Oslat,
    /// A histogram of whatever its owner measured.
    HdrHistogram,
    /// schbench: from being woken to running.
    SchbenchWakeup,
    /// schbench: how long a request took.
    SchbenchRequest,
    /// runqlat: how long threads waited for a CPU.
    Runqlat,
    /// A histogram that a tool of bcc or bpftrace counted.
    BpfHistogram,
    /// hyperfine: how long a command took.
    Hyperfine,
    /// wrk: how long a request took.
    Wrk,
}

impl ForeignTool {
    /// The name used in recordings and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cyclictest => "cyclictest",
            Self::Jitterdebugger => "jitterdebugger",
            Self::StressNg => "stress_ng",
            Self::TimerlatIrq => "timerlat_irq",
            Self::TimerlatThread => "timerlat_thread",
            Self::TimerlatUser => "timerlat_user",
            Self::Osnoise => "osnoise",
            Self::Oslat => "oslat",
            Self::HdrHistogram => "hdr_histogram",
            Self::SchbenchWakeup => "schbench_wakeup",
            Self::SchbenchRequest => "schbench_request",
            Self::Runqlat => "runqlat",
            Self::BpfHistogram => "bpf_histogram",
            Self::Hyperfine => "hyperfine",
            Self::Wrk => "wrk",
        }
    }

    /// Whether it has a period.
    pub const fn has_period(self) -> bool {
        matches!(
            self,
            Self::Cyclictest
                | Self::Jitterdebugger
                | Self::StressNg
                | Self::TimerlatIrq
                | Self::TimerlatThread
                | Self::TimerlatUser
        )
    }
}

/// Unit of the numbers in a file that does not state it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimeUnit {
    /// Nanoseconds.
    Nanoseconds,
    /// Microseconds.
    Microseconds,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
}

impl TimeUnit {
    /// Shortest first.
    pub const ALL: [Self; 4] = [Self::Nanoseconds, Self::Microseconds, Self::Milliseconds, Self::Seconds];

    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Microseconds => "us",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Nanoseconds => "nanoseconds",
            Self::Microseconds => "microseconds",
            Self::Milliseconds => "milliseconds",
            Self::Seconds => "seconds",
        }
    }

    pub const fn nanos(self) -> u64 {
        match self {
            Self::Nanoseconds => 1,
            Self::Microseconds => 1_000,
            Self::Milliseconds => 1_000_000,
            Self::Seconds => 1_000_000_000,
        }
    }

    /// Parses a symbol or name, as programs print it.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        match text {
            "µs" | "μs" | "usec" | "usecs" => Some(Self::Microseconds),
            "nsec" | "nsecs" => Some(Self::Nanoseconds),
            "msec" | "msecs" => Some(Self::Milliseconds),
            "sec" | "secs" => Some(Self::Seconds),
            _ => Self::ALL.into_iter().find(|unit| {
                text.eq_ignore_ascii_case(unit.symbol()) || text.eq_ignore_ascii_case(unit.name())
            }),
        }
    }
}

/// What a file says of itself beside its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// How many values there are.
    Total,
    /// The smallest.
    Minimum,
    /// The mean.
    Mean,
    /// The largest.
    Maximum,
    /// The value at which the program stopped.
    BreakValue,
}

/// Where it is known from how far a histogram of another program reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HistogramEnd {
    /// The file says it, or the program has only this one.
    Said,
    /// It is the program's default, and nothing in the file is against it.
    Assumed,
    /// The file leaves out rows without a count, so that it may have reached further than its last row.
    #[default]
    Unknown,
}

/// What a reader of another program's file must know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "note", rename_all = "snake_case")]
pub enum ImportNote {
    /// Values beyond the last bucket were not told apart: they count at its end, the largest as itself where it is known.
    BeyondTheLastBucket {
        /// Values beyond the histogram.
        count: u64,
        /// Where the buckets end.
        #[serde(rename = "from_ns", default, skip_serializing_if = "Option::is_none")]
        from: Option<Span>,
        /// Where that is known from.
        #[serde(default)]
        end: HistogramEnd,
    },
    /// The file does not say how many values were beyond its last bucket.
    OverflowsMissing,
    /// The file does not say its unit.
    UnitTaken {
        /// What it is taken as.
        unit: String,
    },
    /// The file has no lines of some cycles that the program counted.
    CyclesMissing {
        /// Cycles without a line.
        count: u64,
    },
    /// Gaps in a spinning thread's time, not latencies.
    Gaps,
    /// How long something took, not how late it was.
    Durations,
    /// The file names a load that howlate does not know.
    LoadNamed {
        /// As it stands there.
        load: String,
    },
    /// Values are whole microseconds, cut: each was up to one more.
    WholeMicroseconds,
    /// Buckets are wide; values count at their ends.
    EndsOfBuckets {
        /// Width of the widest bucket.
        #[serde(rename = "width_ns")]
        width: Span,
    },
    /// Only percentiles are known: values between two count at the upper one.
    PercentilesOnly,
    /// Buckets are this wide; values count at their lower ends.
    StartsOfBuckets {
        /// Width of a bucket.
        #[serde(rename = "width_ns")]
        width: Span,
    },
    /// The file says one thing of itself, and its rows another.
    Disagrees {
        /// What is said.
        claim: Claim,
        /// Of how many threads it is so.
        threads: usize,
        /// What the file says, of the first of them: nanoseconds, or a count.
        says: u64,
        /// What its rows have.
        rows: u64,
    },
    /// Values that the file counts and of which it has no row: they count where its rows first leave room.
    RowsMissing {
        /// How many there are at least.
        count: u64,
        /// Where the rows first leave room.
        #[serde(rename = "from_ns")]
        from: Span,
    },
    /// The file ends in the middle: what follows is not known.
    CutOff,
    /// Part of the file has no values to read.
    LeftOut {
        /// What that part is.
        what: String,
    },
    /// The file has several results, each with rows of its own.
    SeveralResults {
        /// How many.
        count: usize,
    },
    /// What a log calls a thread.
    Tagged {
        /// Its number here.
        thread: usize,
        /// The name that the log gives the thread.
        tag: String,
    },
}

impl fmt::Display for ForeignTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
