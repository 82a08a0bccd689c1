//! The measured intervals of a run, and times within them.

/// Intervals of time, in nanoseconds from the begin of the first.
#[derive(Clone, Debug)]
pub(super) struct MeasuredTime {
    begin: i64,
    /// In order.
    pub(super) intervals: Vec<(f64, f64)>,
    /// From the first one's begin to the last one's end.
    pub(super) whole: f64,
    /// Sum of the intervals.
    pub(super) total: f64,
}

impl MeasuredTime {
    /// Intervals in nanoseconds of any clock, in order; `None` if there are none.
    pub(super) fn new(intervals: impl Iterator<Item = (i64, i64)>) -> Option<Self> {
        let mut intervals = intervals.peekable();
        let begin = intervals.peek()?.0;
        let since = |time: i64| time.saturating_sub(begin) as f64;
        let intervals: Vec<(f64, f64)> = intervals.map(|(from, until)| (since(from), since(until))).collect();
        let whole = intervals.last().map_or(0.0, |last| last.1);
        let total = intervals.iter().map(|(from, until)| until - from).sum();
        Some(Self { begin, intervals, whole, total })
    }

    /// A time of that clock, in nanoseconds since the begin.
    pub(super) fn since_begin(&self, time: i64) -> f64 {
        time.saturating_sub(self.begin) as f64
    }

    /// The begin, on that clock.
    pub(super) const fn begin(&self) -> f64 {
        self.begin as f64
    }

    /// Times that can have been seen, in order; of those within `shortest` of the one before, only the first, as they have one cause.
    pub(super) fn distinct_times(&self, times: impl Iterator<Item = i64>, shortest: f64) -> Vec<f64> {
        let mut times: Vec<f64> = times
            .map(|time| self.since_begin(time))
            .filter(|time| (0.0..=self.whole).contains(time))
            .collect();
        times.sort_unstable_by(f64::total_cmp);
        let mut last = f64::NEG_INFINITY;
        times.retain(|time| time - std::mem::replace(&mut last, *time) >= shortest);
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_closely_counts_once_and_what_cannot_have_been_seen_not_at_all() {
        let measured = MeasuredTime::new([(100, 200), (300, 400)].into_iter()).unwrap();
        assert_eq!((measured.whole, measured.total), (300.0, 200.0));
        let times = [150, 152, 154, 310, 90, i64::MAX, i64::MIN, 401].into_iter();
        assert_eq!(measured.distinct_times(times, 5.0), [50.0, 210.0]);
        assert!(MeasuredTime::new(std::iter::empty()).is_none());
    }
}
