//! Errors of sessions.

use std::path::PathBuf;

use howlate_guest::GuestError;
use howlate_load::StartError;
use howlate_model::EngineError;
use howlate_recording::{CreateError, ReadError};
use howlate_trace::TracerMissing;

use crate::until::GoalError;

/// Why a session cannot start or continue.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A load cannot be applied here.
    #[error(transparent)]
    Load(#[from] StartError),
    /// The recording cannot be written.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// The recording of an interrupted run cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A turn failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The requested tracer is not available.
    #[error(transparent)]
    Tracer(#[from] TracerMissing),
    /// Actions on late wake-ups, and none can be seen.
    #[error("--on-late would do nothing here: how late the threads are is not visible without a tracer")]
    OnLateNotSeen,
    /// The stop rule cannot be satisfied.
    #[error(transparent)]
    Until(#[from] GoalError),
    /// The recording exists and is not resumed.
    #[error("{} already holds a run; refusing to overwrite it", path.display())]
    RunRecorded { path: PathBuf },
    /// The recording belongs to another plan or machine.
    #[error("{} holds other conditions than this plan gives here and now", path.display())]
    OtherConditions { path: PathBuf },
}

impl SessionError {
    /// What to do about the error.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Load(error) => error.hint(),
            Self::Create(error) => Some(error.hint()),
            Self::Read(error) => Some(error.hint()),
            Self::OnLateNotSeen => Some(
                "it takes a tracer: `--tracer auto`, as root or with the capabilities BPF and PERFMON; without --on-late it says what each lacks".into(),
            ),
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

/// Why a measurement in guests stopped.
#[derive(Debug, thiserror::Error)]
pub enum GuestsError {
    /// A guest failed.
    #[error(transparent)]
    Guest(#[from] GuestError),
    /// The session on the host failed.
    #[error(transparent)]
    Session(#[from] SessionError),
}
/// Permission is missing; a thread limit gives another error.
fn is_denied(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::PermissionDenied
}
