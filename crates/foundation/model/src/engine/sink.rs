//! Where an engine puts what it sees.

use super::ThreadProgress;
use crate::{Line, Span, Wakeup};

/// Where an engine puts what it sees.
pub trait Sink {
    /// A line of the recording.
    fn line(&mut self, line: Line);
    /// Each time the observer has polled: how far each thread has come.
    fn progress(&mut self, threads: &[ThreadProgress]);
    /// A program of its own was started for `condition`: `tid` is its first thread, with `slack` as its timer slack. Said
    /// before it has set itself up, so that whoever watches it misses none of its sleeps.
    fn program_started(&mut self, _condition: u32, _tid: u32, _slack: Span) {}
    /// Whether [`Sink::wakeups`] is wanted; asked once.
    fn wants_wakeups(&self) -> bool {
        false
    }
    /// The wake-ups of thread `thread` since the last poll, oldest first.
    fn wakeups(&mut self, _thread: usize, _wakeups: &[Wakeup]) {}
}
