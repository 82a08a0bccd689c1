//! Causes of lateness that were made on purpose, and when.

use serde::{Deserialize, Serialize};

use crate::{CauseKind, MonotonicTime, Span, Wakeup};

/// A stretch of time in which whoever made a cause was at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonotonicInterval {
    /// When it began.
    pub from: MonotonicTime,
    /// When it ended.
    pub until: MonotonicTime,
}

impl MonotonicInterval {
    /// How much of `wakeup`'s lateness lies in it.
    pub fn within(&self, wakeup: Wakeup) -> Span {
        let (from, until) = (self.from.max(wakeup.expected), self.until.min(wakeup.ran));
        until.since(from)
    }
}

/// A cause that was made, and what a tracer has to call it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InjectedCause {
    /// What kind of thing.
    pub kind: CauseKind,
    /// The thread's comm, the softirq's name; empty where the kind has none.
    pub name: String,
    /// The thread's id, where it is a thread.
    pub pid: Option<u32>,
    /// When it was at it, in order and apart.
    pub stamps: Vec<MonotonicInterval>,
}

#[cfg(test)]
mod tests {
    use super::*;

    // 0    10   20   30   40
    // |----|----|----|----|
    //      [  late   ]          the wake-up
    //           [ stamp   ]
    #[test]
    fn a_stamp_counts_where_the_thread_was_late() {
        let at = MonotonicTime::from_nanos;
        let wakeup = Wakeup { expected: at(10), ran: at(30) };
        let within =
            |from, until| MonotonicInterval { from: at(from), until: at(until) }.within(wakeup).as_nanos();
        assert_eq!(
            [within(20, 40), within(0, 100), within(12, 17), within(30, 50), within(0, 10)],
            [10, 20, 5, 0, 0]
        );
    }
}
