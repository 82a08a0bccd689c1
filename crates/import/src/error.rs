//! Why a file of another program cannot be read.

/// Why a file of another program cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// It has no distribution to read.
    #[error("{program} wrote no histogram into it, only a summary")]
    NoHistogram {
        /// What wrote it.
        program: &'static str,
        /// How to have one next time.
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
    /// JSON longer than any of these programs writes.
    #[error("it is JSON of more than {} MiB, the most that is read", crate::LONGEST_JSON >> 20)]
    LongJson,
    /// JSON that somebody did not finish, such as a program that was killed.
    #[error("it is JSON that ends in the middle, in line {line}")]
    CutOff {
        /// The last one, from 1.
        line: usize,
    },
}

impl ImportError {
    /// What to type to have a file that can be read.
    pub const fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::NoHistogram { remedy, .. } => Some(remedy),
            Self::CutOff { .. } => Some("let whatever writes it end: with SIGINT rather than SIGKILL"),
            Self::Damaged { .. } | Self::Wide { .. } | Self::LongJson => None,
        }
    }
}
