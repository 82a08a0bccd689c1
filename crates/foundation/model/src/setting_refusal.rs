//! Why a setting is not as asked.

use std::io;

use crate::{AsText, OsError};

/// Why a setting of a thread, of the process or of the machine is not in force, or not back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingRefusal {
    /// The kernel's answer to what a thread asked for itself; its words alone.
    #[error("{}", .0.words())]
    Kernel(OsError),
    /// The kernel's answer, with its number.
    #[error("{0}")]
    Os(OsError),
    /// It took the call, and something else is in force.
    #[error("the kernel accepted it but reports another")]
    ReportsAnother,
    /// sched_setattr(2): a deadline thread must be allowed on all CPUs of its root domain.
    #[error("SCHED_DEADLINE takes no affinity")]
    DeadlineAffinity,
    /// Older kernels take a slice without a word, and know none.
    #[error("threads have slices of their own since Linux 6.12")]
    NoSlices,
    /// Nothing gives a program one.
    #[error("programs are started without one")]
    SliceOfProgram,
    /// Somebody with the right has changed it since.
    #[error("it was changed, or a CPU went offline, while this was measured")]
    ChangedMeanwhile,
    /// The machine lacks its file.
    #[error("this machine has no {path}")]
    NoFile {
        /// Where it would be.
        path: String,
    },
    /// The machine has no governors.
    #[error("this machine does not let Linux choose the CPU frequency")]
    NoGovernor,
    /// Whoever would put it back cannot remember it.
    #[error("the process that would put it back cannot remember it: {why}")]
    NotRemembered {
        /// In its words.
        why: String,
    },
    /// It was written, and reads otherwise.
    #[error("the kernel took it and kept `{value}`")]
    Kept {
        /// What it holds.
        value: String,
    },
    /// It was to be changed from one value, and holds another.
    #[error("it holds `{now}` and no longer `{was}`: something else has changed it, and it is left")]
    Changed {
        /// What it was to hold.
        was: String,
        /// What it holds.
        now: String,
    },
    /// `/dev/cpu_dma_latency` is held at more than asked.
    #[error("the kernel holds {micros}")]
    LatencyHeld {
        /// Microseconds in force.
        micros: i32,
    },
    /// It does not hold what it held before.
    #[error("it is `{value}`")]
    Holds {
        /// What it holds.
        value: String,
    },
    /// It is one of several files, or threads, that a setting stands for.
    #[error("{place}: {reason}")]
    At {
        /// The file, or the thread, that refused it.
        place: String,
        /// What is the matter with it.
        reason: Box<AsText<SettingRefusal>>,
    },
}

impl SettingRefusal {
    /// What a call of a thread about itself was answered.
    pub fn of_thread(error: &io::Error) -> AsText<Self> {
        match error.raw_os_error() {
            Some(number) => Self::Kernel(OsError(number)).into(),
            None => AsText::Text(error.to_string()),
        }
    }

    /// The same, of one of several places.
    pub fn at(place: impl Into<String>, reason: impl Into<AsText<Self>>) -> AsText<Self> {
        Self::At { place: place.into(), reason: Box::new(reason.into()) }.into()
    }
}

impl From<OsError> for SettingRefusal {
    fn from(error: OsError) -> Self {
        Self::Os(error)
    }
}
