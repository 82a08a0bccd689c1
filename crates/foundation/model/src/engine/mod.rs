//! What takes a turn: measuring threads, a program of its own, a sender and its receiver.
//!
//! Each way to measure is an [`Engine`] in a crate of its own. Whoever runs a session asks its
//! engines in order which of them takes a turn, and knows none of them by name.

mod progress;
mod sink;
mod turn_control;

use std::io;

pub use progress::ThreadProgress;
pub use sink::Sink;
pub use turn_control::{
    ProcessState, ThresholdAction, TurnControl, TurnStart, WakeupHook, WakeupHookFactory,
};

use crate::{CombinationRefusal, EndReason, Turn};

/// A way to measure.
pub trait Engine {
    /// Whether this engine can take `turn`.
    fn takes(&self, turn: &Turn) -> bool;

    /// Takes `turn`: runs all its tasks side by side until they are done, its time is over, the `bounds`
    /// are reached or the run is interrupted. `sink` gets the lines of the recording as they come.
    ///
    /// # Errors
    ///
    /// When nothing can be measured at all. A refused setting is no error: it is measured without, and
    /// a caveat says so. What fails in one turn only is reported in its [`crate::TurnFinished`].
    fn run(&mut self, turn: &Turn, bounds: &TurnControl, sink: &mut dyn Sink)
    -> Result<TurnEnd, EngineError>;
}

/// What came of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnEnd {
    /// Why it ended.
    pub how: EndReason,
    /// Whether a thread never came back and may still be running.
    pub left_behind: bool,
}

impl From<EndReason> for TurnEnd {
    fn from(how: EndReason) -> Self {
        Self { how, left_behind: false }
    }
}

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A thread could not be started.
    #[error("cannot start measuring thread {thread}: {source}")]
    Thread {
        /// Which of the threads, from 0.
        thread: usize,
        /// The kernel's reason.
        source: io::Error,
    },
    /// A thread's settings could not be read back.
    #[error("cannot read back the settings of measuring thread {thread}: {source}")]
    ReadBack {
        /// Which of the threads, from 0.
        thread: usize,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The clock to wait on is not there.
    #[error("{0}")]
    NoClock(CombinationRefusal),
    /// No engine takes such a turn.
    #[error("there is nothing here that can measure {mechanism}")]
    NotTaken {
        /// How the threads of the turn come to run.
        mechanism: String,
    },
}
