//! Histograms of other programs, counted into a distribution.

use howlate_model::{Distribution, ImportNote, Latency, MOST_COUNTED};

use crate::error::ImportError;

/// A linear histogram of one thread: values in some unit, with their counts.
pub(crate) struct Linear {
    program: &'static str,
    /// Nanoseconds of one unit.
    unit: u64,
    all: Distribution,
    /// The end of the last bucket, in units.
    edge: u64,
    /// How many values were larger than every bucket.
    pub(crate) overflows: u64,
}

impl Linear {
    /// Empty, as `program` fills it.
    pub(crate) fn new(program: &'static str, unit: u64) -> Self {
        Self { program, unit, all: Distribution::default(), edge: 0, overflows: 0 }
    }

    /// How many values are in its buckets, and beyond them.
    pub(crate) const fn counted(&self) -> u64 {
        self.all.count()
    }

    /// A bucket as it is printed.
    pub(crate) fn add(&mut self, value: u64, count: u64) -> Result<(), ImportError> {
        self.edge = self.edge.max(value.saturating_add(1));
        self.count(value, count)
    }

    /// Buckets, values first.
    pub(crate) fn add_all(
        &mut self,
        buckets: impl IntoIterator<Item = (u64, u64)>,
    ) -> Result<(), ImportError> {
        buckets.into_iter().try_for_each(|(value, count)| self.add(value, count))
    }

    /// What was beyond the last bucket counts at its end; the largest, where it is known, as itself.
    pub(crate) fn overflowed(&mut self, count: u64, max: Option<u64>) -> Result<(), ImportError> {
        self.overflows = count;
        let largest = max.filter(|max| *max >= self.edge && count > 0);
        self.count(self.edge, count.saturating_sub(u64::from(largest.is_some())))?;
        largest.map_or(Ok(()), |max| self.count(max, 1))
    }

    fn count(&mut self, value: u64, count: u64) -> Result<(), ImportError> {
        let nanos = i64::try_from(value.saturating_mul(self.unit)).unwrap_or(i64::MAX);
        count_in(&mut self.all, self.program, nanos, count)
    }

    /// All of it.
    pub(crate) fn distribution(self) -> Distribution {
        self.all
    }
}

/// Counts `count` latencies of `nanos`, if `all` is not more then than there can be.
pub(crate) fn count_in(
    all: &mut Distribution,
    program: &'static str,
    nanos: i64,
    count: u64,
) -> Result<(), ImportError> {
    if all.count().checked_add(count).is_none_or(|sum| sum > MOST_COUNTED) {
        let what = "it counts more values than any run can have".to_owned();
        return Err(ImportError::Damaged { program, what });
    }
    if count > 0 {
        all.record_n(Latency::from_nanos(nanos), count);
    }
    Ok(())
}

/// What is said of counts beyond the last bucket.
pub(crate) fn overflow_note(count: u64) -> Option<ImportNote> {
    (count > 0).then_some(ImportNote::BeyondTheLastBucket { count })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overflowed_is_counted_once_and_the_largest_is_known() {
        let mut one = Linear::new("a program", 1_000);
        one.add_all([(5, 3), (9, 1)]).unwrap();
        one.overflowed(2, Some(70)).unwrap();
        let all = one.distribution();
        assert_eq!(all.count(), 6);
        assert_eq!(all.buckets().map(|bucket| bucket.count).collect::<Vec<_>>(), [3, 1, 1, 1]);
        assert_eq!(all.sum_nanos(), (3 * 5 + 9 + 10 + 70) * 1_000);
        let mut within = Linear::new("a program", 1);
        within.add(5, 3).unwrap();
        within.overflowed(0, Some(5)).unwrap();
        assert_eq!((within.counted(), within.distribution().max()), (3, Some(Latency::from_nanos(5))));
    }
}
