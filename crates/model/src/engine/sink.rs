//! Where an engine puts what it sees.

use super::Progress;
use crate::{Line, Wakeup};

/// Where an engine puts what it sees.
pub trait Sink {
    /// A line of the recording.
    fn line(&mut self, line: Line);
    /// Each time the observer has polled: how far each thread has come.
    fn progress(&mut self, threads: &[Progress]);
    /// Whether [`Sink::wakeups`] is wanted; asked once.
    fn wants_wakeups(&self) -> bool {
        false
    }
    /// The wake-ups of thread `thread` since the last poll, oldest first.
    fn wakeups(&mut self, _thread: usize, _wakeups: &[Wakeup]) {}
}
