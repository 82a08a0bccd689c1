//! Why a setting was refused, and why a turn failed.

use std::io;

use crate::{AsText, OsError};

/// Why a setting of a thread, the process or the machine is not in force, or not restored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingRefusal {
    /// An error of the kernel, shown without its number.
    #[error("{}", .0.message())]
    Kernel(OsError),
    /// An error of the kernel, shown with its number.
    #[error("{0}")]
    Os(OsError),
    /// The call succeeded, but another value is in force.
    #[error("the kernel accepted it but reports another")]
    ReportsAnother,
    /// sched_setattr(2): a deadline thread must be allowed on all CPUs of its root domain.
    #[error("SCHED_DEADLINE takes no affinity")]
    DeadlineAffinity,
    /// Older kernels accept a slice silently and ignore it.
    #[error("threads have slices of their own since Linux 6.12")]
    NoSlices,
    /// Programs of other languages cannot be given a slice.
    #[error("programs are started without one")]
    SliceOfProgram,
    /// Another program changed it.
    #[error("it was changed, or a CPU went offline, while this was measured")]
    ChangedMeanwhile,
    /// The machine lacks its file.
    #[error("this machine has no {path}")]
    NoFile { path: String },
    #[error("this machine does not let Linux choose the CPU frequency")]
    NoGovernor,
    /// The guardian cannot store it for restoring.
    #[error("the process that would put it back cannot remember it: {why}")]
    NotRemembered {
        /// The guardian's message.
        why: String,
    },
    /// It was written, but reads back differently.
    #[error("the kernel took it and kept `{value}`")]
    Kept { value: String },
    /// It does not hold the expected old value.
    #[error("it holds `{now}` and no longer `{was}`: something else has changed it, and it is left")]
    Changed {
        /// Expected value.
        was: String,
        now: String,
    },
    /// `/dev/cpu_dma_latency` is held at a higher value than requested.
    #[error("the kernel holds {micros}")]
    LatencyHeld {
        /// Microseconds in force.
        micros: i32,
    },
    /// It was not restored to its old value.
    #[error("it is `{value}`")]
    Holds { value: String },
    /// One of several files or threads of the setting refused it.
    #[error("{place}: {reason}")]
    At {
        /// The file or thread.
        place: String,
        reason: Box<AsText<SettingRefusal>>,
    },
}

impl SettingRefusal {
    /// From an error of a call that a thread made about itself.
    pub fn of_thread(error: &io::Error) -> AsText<Self> {
        match error.raw_os_error() {
            Some(number) => Self::Kernel(OsError(number)).into(),
            None => AsText::Text(error.to_string()),
        }
    }

    /// A refusal by one of several files or threads.
    pub fn at(place: impl Into<String>, reason: impl Into<AsText<Self>>) -> AsText<Self> {
        Self::At { place: place.into(), reason: Box::new(reason.into()) }.into()
    }
}

impl From<OsError> for SettingRefusal {
    fn from(error: OsError) -> Self {
        Self::Os(error)
    }
}

/// Why a turn did not do what was asked of it. What engines and runtimes say of their own failures is kept in their words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TurnFailure {
    /// The call that waits failed.
    #[error("{0}")]
    Os(OsError),
    /// Its time was up.
    #[error("it was cut at its time limit")]
    TimeLimit,
    /// A setting was not what it was to be until the end. The words of the caveat that tells it, too.
    #[error(
        "{path} was set to `{set}` for this run, and held `{found}` at the end: something else changed it meanwhile."
    )]
    SettingChanged {
        /// Path of the recording.
        path: String,
        /// What the run had set, and read back.
        set: String,
        /// What it held at the end.
        found: String,
    },
    /// No thread of a program that is watched has what is asked, and nothing says why.
    #[error("no thread of the program can have it, as they are now")]
    NoThread,
    /// A setting that was asked for is in force nowhere.
    #[error("{setting}: {reason}")]
    Setting {
        /// The setting, as written in the plan, or its file.
        setting: String,
        /// Why it was refused.
        reason: AsText<SettingRefusal>,
    },
}

impl From<OsError> for TurnFailure {
    fn from(error: OsError) -> Self {
        Self::Os(error)
    }
}
