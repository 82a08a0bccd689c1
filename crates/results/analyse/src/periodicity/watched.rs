//! When something was looked for, and when it was seen.

/// Stretches of time, in nanoseconds from the begin of the first.
#[derive(Clone, Debug)]
pub(super) struct Watched {
    began: i64,
    /// In order.
    pub(super) stretches: Vec<(f64, f64)>,
    /// From the first one's begin to the last one's end.
    pub(super) whole: f64,
    /// All of them together.
    pub(super) watched: f64,
}

impl Watched {
    /// Stretches in nanoseconds of any clock, in order; nothing where there are none.
    pub(super) fn new(stretches: impl Iterator<Item = (i64, i64)>) -> Option<Self> {
        let mut stretches = stretches.peekable();
        let began = stretches.peek()?.0;
        let since = |time: i64| time.saturating_sub(began) as f64;
        let stretches: Vec<(f64, f64)> = stretches.map(|(from, until)| (since(from), since(until))).collect();
        let whole = stretches.last().map_or(0.0, |last| last.1);
        let watched = stretches.iter().map(|(from, until)| until - from).sum();
        Some(Self { began, stretches, whole, watched })
    }

    /// A time of the same clock.
    pub(super) fn since_begin(&self, time: i64) -> f64 {
        time.saturating_sub(self.began) as f64
    }

    /// When it began, on that clock.
    pub(super) const fn began(&self) -> f64 {
        self.began as f64
    }

    /// Times that can have been seen, in order; those that follow one within `shortest` have its cause.
    pub(super) fn apart(&self, times: impl Iterator<Item = i64>, shortest: f64) -> Vec<f64> {
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
        let watched = Watched::new([(100, 200), (300, 400)].into_iter()).unwrap();
        assert_eq!((watched.whole, watched.watched), (300.0, 200.0));
        let times = [150, 152, 154, 310, 90, i64::MAX, i64::MIN, 401].into_iter();
        assert_eq!(watched.apart(times, 5.0), [50.0, 210.0]);
        assert!(Watched::new(std::iter::empty()).is_none());
    }
}
