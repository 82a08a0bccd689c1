//! Histograms with columns wider than a distribution's own buckets, for plots.

use howlate_model::{Distribution, PackedBuckets};

/// Columns per doubling of the latency. Their borders are borders of the distribution's own buckets, so that no latency is counted
/// in the wrong column.
const PER_DOUBLING: usize = 8;
const BITS: u32 = PER_DOUBLING.trailing_zeros();

/// Counts per column; columns widen with the latency, like a logarithmic axis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LatencyColumns {
    counts: PackedBuckets,
}

/// One column that is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatencyColumn {
    /// The smallest latency counted here, in nanoseconds.
    pub from: u64,
    /// The smallest latency beyond the column, in nanoseconds.
    pub until: u64,
    pub count: u64,
}

#[allow(clippy::cast_possible_truncation, reason = "below 16, or at most 61")]
const fn index(nanos: u64) -> usize {
    if nanos < PER_DOUBLING as u64 {
        return nanos as usize;
    }
    let doubling = u64::BITS - 1 - nanos.leading_zeros() - BITS;
    doubling as usize * PER_DOUBLING + (nanos >> doubling) as usize
}

const fn lowest(index: usize) -> u64 {
    if index < 2 * PER_DOUBLING {
        return index as u64;
    }
    let doubling = index / PER_DOUBLING - 1;
    ((index - doubling * PER_DOUBLING) as u64) << doubling
}

impl LatencyColumns {
    /// The columns of a distribution.
    pub fn from_distribution(distribution: &Distribution) -> Self {
        // Buckets ascend, so those of one column follow one another.
        let mut buckets =
            distribution.buckets().map(|bucket| (index(bucket.lowest), bucket.count)).peekable();
        let column = || {
            let (place, mut count) = buckets.next()?;
            while let Some((_, more)) = buckets.next_if(|next| next.0 == place) {
                count += more;
            }
            Some((place, count))
        };
        Self { counts: std::iter::from_fn(column).collect() }
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.counts.merge(&other.counts);
    }

    /// The columns that are not empty, ascending.
    pub fn iter(&self) -> impl Iterator<Item = LatencyColumn> + '_ {
        self.counts.iter().map(|(place, count)| LatencyColumn {
            from: lowest(place),
            until: lowest(place + 1),
            count,
        })
    }

    /// Number of latencies.
    pub fn count(&self) -> u64 {
        self.counts.iter().map(|(_, count)| count).sum()
    }
}

/// Counts in columns of equal `width` from 0, and the count beyond the last of them.
///
/// A bucket that spans several columns counts in the column of its middle.
pub fn equal_columns(distribution: &Distribution, width: u64, columns: usize) -> (Vec<u64>, u64) {
    let (mut counts, mut beyond) = (vec![0; columns], 0);
    for bucket in distribution.buckets() {
        let middle = bucket.lowest + (bucket.highest - bucket.lowest) / 2;
        let place = usize::try_from(middle / width.max(1)).unwrap_or(usize::MAX);
        match counts.get_mut(place) {
            Some(count) => *count += bucket.count,
            None => beyond += bucket.count,
        }
    }
    (counts, beyond)
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::Latency;
    use proptest::prelude::*;

    fn counting(latencies: &[i64]) -> Distribution {
        let mut all = Distribution::default();
        latencies.iter().for_each(|nanos| all.record(Latency::from_nanos(*nanos)));
        all
    }

    proptest! {
        #[test]
        fn each_latency_is_in_its_column(nanos in 0_u64..3_600_000_000_000) {
            let place = index(nanos);
            prop_assert!(lowest(place) <= nanos && nanos < lowest(place + 1));
        }

        #[test]
        fn no_latency_is_lost(latencies in prop::collection::vec(0_i64..1_000_000_000, 0..200)) {
            let all = counting(&latencies);
            prop_assert_eq!(LatencyColumns::from_distribution(&all).count(), all.count());
            let (counts, beyond) = equal_columns(&all, 30_000_000, 30);
            prop_assert_eq!(counts.iter().sum::<u64>() + beyond, all.count());
        }

        #[test]
        fn columns_hold_what_is_between_their_borders(latencies in prop::collection::vec(0_i64..1_000_000, 1..50)) {
            for column in LatencyColumns::from_distribution(&counting(&latencies)).iter() {
                let within = |nanos: &&i64| (column.from..column.until).contains(&nanos.unsigned_abs());
                prop_assert_eq!(latencies.iter().filter(within).count() as u64, column.count);
            }
        }
    }
}
