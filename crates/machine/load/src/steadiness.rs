//! Detects when the rate of a load has become steady.

/// Consecutive observations without a new extreme after which a load is steady.
const STEADY_OBSERVATIONS: u32 = 3;
/// An observation is a new extreme only when it exceeds the range so far by more than one part in this many of the maximum.
const TOLERANCE: u64 = 10;

/// Observes the progress per interval. While a load settles, each interval has a new maximum or minimum; when it is steady,
/// intervals stay within the range so far.
#[derive(Default)]
pub(crate) struct Steadiness {
    /// The total at the last observation.
    last: Option<u64>,
    /// Minimum and maximum progress of an interval.
    extremes: Option<(u64, u64)>,
    without_extreme: u32,
}

impl Steadiness {
    /// `total` is the progress since the start.
    pub(crate) fn observe(&mut self, total: u64) {
        let Some(before) = self.last.replace(total) else { return };
        let done = total.saturating_sub(before);
        let (min, max) = self.extremes.unwrap_or((u64::MAX, 0));
        let margin = max / TOLERANCE;
        let is_extreme = done > max + margin || done.saturating_add(margin) < min;
        self.without_extreme = if is_extreme { 0 } else { self.without_extreme + 1 };
        self.extremes = Some((min.min(done), max.max(done)));
    }

    pub(crate) const fn is_steady(&self) -> bool {
        self.without_extreme >= STEADY_OBSERVATIONS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of intervals with this progress after which a load is steady.
    fn steady_after(done: &[u64]) -> Option<usize> {
        let (mut steadiness, mut total) = (Steadiness::default(), 0);
        steadiness.observe(total);
        done.iter().position(|done| {
            total += done;
            steadiness.observe(total);
            steadiness.is_steady()
        })
    }

    #[test]
    fn a_load_is_steady_when_its_progress_stays_within_a_range() {
        assert_eq!(steady_after(&[100, 101, 99, 100]), Some(3));
        // Starts slowly.
        assert_eq!(steady_after(&[1, 10, 40, 80, 100, 98, 103, 97]), Some(7));
        // Starts with a burst.
        assert_eq!(steady_after(&[900, 500, 300, 100, 101, 97, 99]), Some(6));
        // A disk writes for a while, then waits.
        assert_eq!(steady_after(&[0, 80, 0, 75, 0]), Some(4));
        // Nothing at all is steady, too.
        assert_eq!(steady_after(&[0, 0, 0, 0]), Some(3));
        assert_eq!(steady_after(&[1, 2, 4, 8, 16, 32, 64]), None);
    }
}
