//! A turn of a loop that its program has marked.

use crate::MonotonicTime;

/// One turn of a marked loop: the program's own readings of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopTurn {
    /// When it was to begin, where the program says so.
    pub expected: Option<MonotonicTime>,
    /// When it began.
    pub woke: MonotonicTime,
    /// When its work was done, where the program says so.
    pub done: Option<MonotonicTime>,
}
