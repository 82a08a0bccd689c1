//! Injected causes of lateness, and when they were active.

use serde::{Deserialize, Serialize};

use crate::{CauseKind, MonotonicTime, Span, Wakeup};

/// A time interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonotonicInterval {
    pub from: MonotonicTime,
    pub until: MonotonicTime,
}

impl MonotonicInterval {
    /// The part of `wakeup`'s lateness inside the interval.
    pub fn within(&self, wakeup: Wakeup) -> Span {
        let (from, until) = (self.from.max(wakeup.expected), self.until.min(wakeup.ran));
        until.since(from)
    }
}

/// An injected cause, and how a tracer should report it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InjectedCause {
    pub kind: CauseKind,
    /// The thread's comm, the softirq's name; empty where the kind has none.
    pub name: String,
    /// The thread's id, where it is a thread.
    pub pid: Option<u32>,
    /// When it was active, in order, without overlaps.
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
