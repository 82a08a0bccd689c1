//! `/proc/PID/schedstat`: what a thread got of its CPU.

use howlate_model::Span;

use crate::Root;

/// One thread's times since it began.
///
/// Source: `Documentation/scheduler/sched-stats.rst`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schedstat {
    /// Running on a CPU.
    pub ran: Span,
    /// Ready to run, and waiting for a CPU.
    pub waited: Span,
}

impl Schedstat {
    /// Reads those of a thread; `None` when it is gone, or the kernel keeps none.
    pub fn read(root: &Root, tid: u32) -> Option<Self> {
        Self::parse(&root.read(&format!("/proc/{tid}/schedstat")).ok()?)
    }

    /// Nanoseconds run, nanoseconds waited, turns.
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split_whitespace().map(|number| number.parse().ok().map(Span::from_nanos));
        Some(Self { ran: numbers.next()??, waited: numbers.next()?? })
    }

    /// What was added since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self { ran: self.ran.minus(earlier.ran), waited: self.waited.minus(earlier.waited) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_got_is_the_difference_of_two_readings() {
        let (before, after) = (Schedstat::parse("1000 200 7\n"), Schedstat::parse("4000 250 9\n"));
        let got = Schedstat { ran: Span::from_nanos(3_000), waited: Span::from_nanos(50) };
        assert_eq!(after.unwrap().since(before.unwrap()), got);
        assert_eq!(Schedstat::parse("1000"), None);
    }
}
