//! Histograms of other programs, counted into a distribution.

use howlate_model::{Distribution, HistogramEnd, ImportNote, Latency, MOST_COUNTED, Span};

use crate::error::ImportError;

/// A linear histogram of one thread: values in some unit, with their counts.
pub(crate) struct Linear {
    program: &'static str,
    /// Nanoseconds of one unit.
    unit: u64,
    all: Distribution,
    /// The end of the last bucket that stands in the file, in units.
    edge: u64,
    /// Where its buckets end, in units, and where that is known from.
    reach: Option<(u64, HistogramEnd)>,
    overflow: Overflow,
}

/// How many values were larger than every bucket.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Overflow {
    pub(crate) count: u64,
    /// Where the buckets end, in nanoseconds.
    from: Option<u64>,
    end: HistogramEnd,
}

impl Overflow {
    /// That of several histograms: what is least sure of any is so of all.
    pub(crate) fn joined(all: impl IntoIterator<Item = Self>) -> Self {
        let some = all.into_iter().filter(|one| one.count > 0);
        let joined = some.reduce(|one, other| Self {
            count: one.count.saturating_add(other.count),
            from: one.from.into_iter().chain(other.from).min(),
            end: one.end.max(other.end),
        });
        joined.unwrap_or_default()
    }

    /// What is said of it; nothing where nothing overflowed.
    pub(crate) fn note(self) -> Option<ImportNote> {
        let Self { count, from, end } = self;
        let from = from.map(Span::from_nanos);
        (count > 0).then_some(ImportNote::BeyondTheLastBucket { count, from, end })
    }
}

impl Linear {
    /// Empty, as `program` fills it.
    pub(crate) fn new(program: &'static str, unit: u64) -> Self {
        Self {
            program,
            unit,
            all: Distribution::default(),
            edge: 0,
            reach: None,
            overflow: Overflow::default(),
        }
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

    /// Says up to where its buckets reach, in units, which the rows that stand in a file need not tell.
    pub(crate) const fn reaches(&mut self, end: u64, known: HistogramEnd) {
        self.reach = Some((end, known));
    }

    /// What was beyond the last bucket counts at its end; the largest, where it is known, as itself. Without
    /// [`Self::reaches`], or where that cannot be true, the last bucket that stands in the file is taken for the last.
    pub(crate) fn overflowed(&mut self, count: u64, max: Option<u64>) -> Result<(), ImportError> {
        if count == 0 {
            return Ok(());
        }
        let can_be =
            |reach: &(u64, HistogramEnd)| reach.0 >= self.edge && max.is_none_or(|max| max >= reach.0);
        let (from, end) = self.reach.filter(can_be).unwrap_or((self.edge, HistogramEnd::Unknown));
        let largest = max.filter(|max| *max >= from);
        self.count(from, count.saturating_sub(u64::from(largest.is_some())))?;
        largest.map_or(Ok(()), |max| self.count(max, 1))?;
        let nanos = from.saturating_mul(self.unit);
        self.overflow = Overflow { count, from: Some(nanos), end };
        self.all.clip(Latency::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX)));
        Ok(())
    }

    /// The mean that the file has, in units: it knows what was beyond the last bucket.
    #[allow(clippy::cast_possible_truncation, reason = "whole nanoseconds are enough of a sum")]
    pub(crate) fn mean(&mut self, units: f64) {
        let sum = units * self.unit as f64 * self.counted() as f64;
        if sum.is_finite() {
            self.all.set_clipped_sum(sum as i128);
        }
    }

    /// What was beyond the last bucket.
    pub(crate) const fn overflow(&self) -> Overflow {
        self.overflow
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
        assert_eq!(all.clipped(), Some(Latency::from_nanos(10_000)));
        let mut within = Linear::new("a program", 1);
        within.add(5, 3).unwrap();
        within.overflowed(0, Some(5)).unwrap();
        assert_eq!(within.overflow().note(), None);
        assert_eq!((within.counted(), within.distribution().max()), (3, Some(Latency::from_nanos(5))));
    }

    #[test]
    fn a_limit_that_the_file_is_against_is_not_believed() {
        let of = |reach: u64, max: Option<u64>| {
            let mut one = Linear::new("a program", 1);
            one.add_all([(5, 3), (9, 1)]).unwrap();
            one.reaches(reach, HistogramEnd::Assumed);
            one.overflowed(2, max).unwrap();
            (one.overflow().from, one.overflow().end)
        };
        assert_eq!(of(256, Some(300)), (Some(256), HistogramEnd::Assumed));
        assert_eq!(of(256, None), (Some(256), HistogramEnd::Assumed));
        assert_eq!(of(256, Some(70)), (Some(10), HistogramEnd::Unknown), "the largest lies below the limit");
        assert_eq!(of(7, Some(70)), (Some(10), HistogramEnd::Unknown), "a bucket lies beyond it");
    }

    #[test]
    fn the_mean_of_a_file_counts_what_its_buckets_do_not_tell() {
        let mut one = Linear::new("a program", 1_000);
        one.add(20, 990).unwrap();
        one.reaches(400, HistogramEnd::Said);
        one.overflowed(10, Some(5_000)).unwrap();
        assert_eq!(one.distribution().mean_nanos(), Some(28_400.0), "(990 × 20 + 9 × 400 + 5000) / 1000");
        let mut one = Linear::new("a program", 1_000);
        one.add(20, 990).unwrap();
        one.overflowed(10, Some(5_000)).unwrap();
        one.mean(60.0);
        assert_eq!(one.distribution().mean_nanos(), Some(60_000.0));
    }
}
