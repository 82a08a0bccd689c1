//! Why a file of another program cannot be read.

use howlate_model::TimeUnit;

/// Why a file of another program cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// It has no distribution to read.
    #[error("{program} wrote no histogram into it, only a summary")]
    NoHistogram {
        program: &'static str,
        /// How to have one next time.
        remedy: &'static str,
    },
    /// It was written by a program whose files are not read.
    #[error("it is {what}")]
    Neighbour {
        /// What it is, and what it lacks.
        what: &'static str,
        /// What to do instead.
        remedy: &'static str,
    },
    /// Something in it cannot be what it should be.
    #[error("it looks like the output of {program}, but {what}")]
    Damaged {
        /// What seems to have written it.
        program: &'static str,
        /// What is wrong, and where.
        what: String,
    },
    /// More threads with latencies further apart than any machine has.
    #[error(
        "it looks like the output of {program}, but its histograms take more than {} MiB, the most that is read",
        crate::MOST_ROOM >> 20
    )]
    Wide {
        /// What seems to have written it.
        program: &'static str,
    },
    /// Lines that were added to a result, and not the result.
    #[error("it is a diff of the output of {program}, with parts of two results")]
    Diff {
        /// What seems to have written what it changes.
        program: &'static str,
    },
    /// A unit was named, and the file names its own.
    #[error("the output of {program} says its unit itself, and `--unit {}` is not for it", unit.symbol())]
    UnitSaid {
        /// What seems to have written it.
        program: &'static str,
        /// As it was named.
        unit: TimeUnit,
    },
    /// A line longer than any of these programs writes.
    #[error("it has a line longer than {} MiB, the longest that is read", crate::LONGEST_LINE >> 20)]
    LongLine,
    /// JSON longer than any of these programs writes.
    #[error("it is JSON of more than {} MiB, the most that is read", crate::LONGEST_JSON >> 20)]
    LongJson,
    /// Truncated JSON, such as of a killed program.
    #[error("it is JSON that ends in the middle, in line {line}")]
    CutOff {
        /// The last one, from 1.
        line: usize,
    },
    /// The rest of a file could not be read.
    #[error("{reason}")]
    Unreadable {
        /// As the kernel or the decoder says.
        reason: String,
    },
    /// A file that is packed in a way that is not unpacked here.
    #[error("it is compressed ({packing})")]
    Packed {
        packing: &'static str,
        /// The program that unpacks it to standard output.
        unpacks: &'static str,
    },
}

impl ImportError {
    /// That `what` of a file that `program` seems to have written cannot be.
    pub(crate) fn damaged(program: &'static str, what: impl Into<String>) -> Self {
        Self::Damaged { program, what: what.into() }
    }

    /// Whether a part of a file may be left out that is so, if others are read.
    pub(crate) const fn is_of_a_part(&self) -> bool {
        matches!(self, Self::NoHistogram { .. })
    }

    /// What to type to have a file that can be read; `path` is the file, as a shell takes it.
    pub fn remedy(&self, path: &str) -> Option<String> {
        let remedy = match self {
            Self::NoHistogram { remedy, .. } | Self::Neighbour { remedy, .. } => remedy,
            Self::CutOff { .. } => "let whatever writes it end: with SIGINT rather than SIGKILL",
            Self::Diff { .. } => "apply it (`git apply`, `patch`), and read the file that it gives",
            Self::UnitSaid { .. } => "leave `--unit` out",
            Self::Packed { unpacks, .. } => return Some(format!("`{unpacks} {path} | howlate show -`")),
            Self::Damaged { .. }
            | Self::Wide { .. }
            | Self::LongLine
            | Self::LongJson
            | Self::Unreadable { .. } => return None,
        };
        Some(remedy.to_owned())
    }
}
