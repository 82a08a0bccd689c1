//! How many incidents are kept: a machine that is late all day must not push out what was before.

use howlate_model::{MonotonicTime, Span};

/// So many at once,
const AT_ONCE: u64 = 2_000;
/// and one in this time for as long as it goes on.
const EVERY: Span = Span::from_millis(50);

/// What may still be kept.
#[derive(Debug)]
pub(crate) struct Rate {
    left: u64,
    counted: MonotonicTime,
}

impl Rate {
    pub(crate) const fn from(now: MonotonicTime) -> Self {
        Self { left: AT_ONCE, counted: now }
    }

    /// How many of `wanted` may be kept now; they are counted.
    pub(crate) fn take(&mut self, wanted: usize, now: MonotonicTime) -> usize {
        let more = now.since(self.counted).as_nanos() / EVERY.as_nanos();
        self.counted = self.counted.plus(EVERY.times(more));
        self.left = self.left.saturating_add(more).min(AT_ONCE);
        let taken = self.left.min(wanted as u64);
        self.left -= taken;
        usize::try_from(taken).unwrap_or(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_may_come_at_once_and_some_forever() {
        let at = |ms: i64| MonotonicTime::from_nanos(ms * 1_000_000);
        let mut rate = Rate::from(at(0));
        assert_eq!(rate.take(1_500, at(10)), 1_500);
        assert_eq!(rate.take(1_500, at(20)), 500);
        assert_eq!(rate.take(1_500, at(1_020)), 20, "20 a second");
        assert_eq!(rate.take(7, at(1_000_000)), 7);
        assert_eq!(rate.take(9_999, at(1_000_000)), 1_993);
    }
}
