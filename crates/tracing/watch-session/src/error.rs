//! Why a program is not watched.

use howlate_trace::{Choice, TracerMissing};
use howlate_watched_program::WatchError;

/// Why a program is not watched. Each is worded where options are known.
#[derive(Debug)]
pub enum NotWatched {
    /// It belongs to another user, and nothing is seen of it.
    Program(WatchError),
    /// The tracer cannot be had.
    Tracer(TracerMissing),
    /// What was chosen does not see when its threads should have run.
    SeesNothing(Choice),
}

impl From<WatchError> for NotWatched {
    fn from(error: WatchError) -> Self {
        Self::Program(error)
    }
}

impl From<TracerMissing> for NotWatched {
    fn from(missing: TracerMissing) -> Self {
        Self::Tracer(missing)
    }
}
