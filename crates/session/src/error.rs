//! Why nothing could be measured.

use std::path::PathBuf;

use howlate_load::StartError;
use howlate_model::EngineError;
use howlate_record::{CreateError, ReadError};
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
