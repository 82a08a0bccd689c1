//! Where an engine puts what it sees.

use super::ThreadProgress;
use crate::{Line, Span, Wakeup};

/// Receives an engine's results.
pub trait Sink {
    /// A line of the recording.
    fn line(&mut self, line: Line);
    /// Progress of all threads, after each poll of the observer.
    fn progress(&mut self, threads: &[ThreadProgress]);
    /// A runtime's program was started for `condition`: `tid` is its first thread, `slack` its timer slack. Called before the
    /// program is set up, so that a tracer misses none of its sleeps.
    fn program_started(&mut self, _condition: u32, _tid: u32, _slack: Span) {}
    /// Whether [`Sink::wakeups`] shall be called; evaluated once.
    fn wants_wakeups(&self) -> bool {
        false
    }
    /// The wake-ups of thread `thread` since the last poll, oldest first.
    fn wakeups(&mut self, _thread: usize, _wakeups: &[Wakeup]) {}
}
