//! Why nothing could be measured.

use std::path::PathBuf;

use howlate_guest::GuestError;
use howlate_load::StartError;
use howlate_model::EngineError;
use howlate_recording::{CreateError, ReadError};
use howlate_trace::TracerMissing;

use crate::until::NotUntil;

/// Why a session could not be begun, or not be gone on with.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A load cannot be applied here.
    #[error(transparent)]
    Load(#[from] StartError),
    /// The recording cannot be written.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// An earlier part of the run cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A turn could not be taken.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The tracer that was asked for cannot be had.
    #[error(transparent)]
    Tracer(#[from] TracerMissing),
    /// It cannot go on until what was asked for.
    #[error(transparent)]
    Until(#[from] NotUntil),
    /// There is a recording already, and it is not to be resumed.
    #[error("{} already holds a run; refusing to overwrite it", path.display())]
    RunRecorded {
        /// Where it is.
        path: PathBuf,
    },
    /// It cannot be resumed: it is of something else.
    #[error("{} holds other conditions than this plan gives here and now", path.display())]
    OtherConditions {
        /// Where it is.
        path: PathBuf,
    },
}

impl SessionError {
    /// What to do.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Load(error) => error.hint(),
            Self::Create(error) => Some(error.hint()),
            Self::Read(error) => Some(error.hint()),
            Self::Tracer(_) => Some("`--tracer auto` takes the best available".into()),
            Self::Engine(EngineError::Thread { source, .. }) if is_denied(source) => {
                Some("a seccomp filter may forbid clone3(2); in a container, try `--security-opt seccomp=unconfined`".into())
            }
            Self::Engine(EngineError::Thread { .. }) => {
                Some("the limit on threads may be reached: see `ulimit -u` and the cgroup's pids.max".into())
            }
            Self::Engine(EngineError::ReadBack { .. }) => {
                Some("a seccomp filter may forbid sched_getattr(2), sched_getaffinity(2) or prctl(2); in a container, try `--security-opt seccomp=unconfined`".into())
            }
            Self::Engine(EngineError::NotTaken { .. } | EngineError::NoClock(_)) => None,
            Self::Until(error) => Some(error.hint().into()),
            Self::RunRecorded { .. } => Some("`--resume` continues it; `--out` names another file".into()),
            Self::OtherConditions { .. } => Some(
                "the plan, an option, a setting, the kernel, the CPUs or howlate have changed since; choose another name with `--out` and start afresh".into(),
            ),
        }
    }
}

/// Why a measurement in other kernels went no further.
#[derive(Debug, thiserror::Error)]
pub enum GuestsError {
    /// A guest did not boot, or not do what was asked.
    #[error(transparent)]
    Guest(#[from] GuestError),
    /// On the host, something is in the way.
    #[error(transparent)]
    Session(#[from] SessionError),
}
/// No limit: whoever may not start threads at all.
fn is_denied(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::PermissionDenied
}
