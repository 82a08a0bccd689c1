//! How many incidents are kept, and requests obeyed: a machine that is late all day must not push out what was before.

use howlate_model::{MonotonicTime, Span};

/// Incidents: so many at once, and one in this time for as long as it goes on.
const INCIDENTS: (u64, Span) = (2_000, Span::from_millis(50));
/// What programs ask to keep: each is a file, and all files together take only so much room.
const SNAPS: (u64, Span) = (10, Span::from_secs(60));

/// What may still be kept.
#[derive(Debug)]
pub(crate) struct Rate {
    at_once: u64,
    every: Span,
    left: u64,
    counted: MonotonicTime,
}

impl Rate {
    pub(crate) const fn of_incidents(now: MonotonicTime) -> Self {
        Self { at_once: INCIDENTS.0, every: INCIDENTS.1, left: INCIDENTS.0, counted: now }
    }

    pub(crate) const fn of_snaps(now: MonotonicTime) -> Self {
        Self { at_once: SNAPS.0, every: SNAPS.1, left: SNAPS.0, counted: now }
    }

    /// How many of `wanted` may be kept now; they are counted.
    pub(crate) fn take(&mut self, wanted: usize, now: MonotonicTime) -> usize {
        let more = now.since(self.counted).as_nanos() / self.every.as_nanos();
        self.counted = self.counted.plus(self.every.times(more));
        self.left = self.left.saturating_add(more).min(self.at_once);
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
        let mut rate = Rate::of_incidents(at(0));
        assert_eq!(rate.take(1_500, at(10)), 1_500);
        assert_eq!(rate.take(1_500, at(20)), 500);
        assert_eq!(rate.take(1_500, at(1_020)), 20, "20 a second");
        assert_eq!(rate.take(7, at(1_000_000)), 7);
        assert_eq!(rate.take(9_999, at(1_000_000)), 1_993);
        let mut snaps = Rate::of_snaps(at(0));
        assert_eq!(snaps.take(99, at(10)), 10);
        assert_eq!((snaps.take(1, at(59_000)), snaps.take(9, at(120_000))), (0, 2), "one a minute");
    }
}
