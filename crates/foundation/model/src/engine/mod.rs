//! Measurement engines: each runs turns in its own way, with measuring threads, a program, or a sender and a receiver.
//!
//! Each [`Engine`] is in a crate of its own. A session gives a turn to the first of its engines that accepts it.

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

    /// Runs all tasks of `turn` concurrently until they are done, its duration is over, `control` ends it or the run is
    /// interrupted. `sink` receives the recording's lines.
    ///
    /// # Errors
    ///
    /// If nothing can be measured at all. A refused setting is no error: the turn runs without it, with
    /// a caveat. Failures of a single turn are reported in its [`crate::TurnFinished`].
    fn run(
        &mut self,
        turn: &Turn,
        control: &TurnControl,
        sink: &mut dyn Sink,
    ) -> Result<TurnEnd, EngineError>;
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnEnd {
    /// Why it ended.
    pub how: EndReason,
    /// Whether a thread did not return and may still be running.
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
        source: io::Error,
    },
    /// A thread's settings could not be read back.
    #[error("cannot read back the settings of measuring thread {thread}: {source}")]
    ReadBack {
        /// Which of the threads, from 0.
        thread: usize,
        source: io::Error,
    },
    /// The clock is unavailable.
    #[error("{0}")]
    NoClock(CombinationRefusal),
    /// No engine takes such a turn.
    #[error("there is nothing here that can measure {mechanism}")]
    NotTaken { mechanism: String },
}
