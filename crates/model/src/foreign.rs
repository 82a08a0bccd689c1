//! What other programs measure.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Span;

/// A program whose results howlate reads, and what of it they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Foreign {
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
}

impl Foreign {
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
        }
    }

    /// Whether it wakes at equal distances, so that a period could be said.
    pub const fn has_period(self) -> bool {
        !matches!(self, Self::Osnoise | Self::Oslat | Self::HdrHistogram)
    }
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
    /// What a log calls a thread.
    Tagged {
        /// Its number here.
        thread: usize,
        /// The name that the log gives the thread.
        tag: String,
    },
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
