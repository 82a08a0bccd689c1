//! Confidence intervals of percentiles from batches of a run.
//!
//! Order statistics would take wake-ups to be independent, which they are not. So the share of wake-ups at or below the
//! percentile is counted per batch: the spread of these shares gives the standard error of the whole share, and the
//! distribution turns that into latencies. Sources: Woodruff, JASA 47 (1952), for the last step; batch means: Schmeiser,
//! Operations Research 30 (1982).

use std::borrow::Cow;

use howlate_model::{Bucket, Distribution, Latency};
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::autocorrelation::{is_too_correlated, lag_one, variance_inflation};
use crate::{Interval, least_wakeups};

/// Most batches stored. Beyond that, neighbours are joined, so that memory stays constant.
const MOST: usize = 32;
/// Fewer batches do not show their spread.
const LEAST: usize = 6;
/// The least effective number of batches, as autocorrelated ones are worth fewer.
const LEAST_EFFECTIVE: f64 = 3.0;

/// The wake-ups of a condition by batch, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batches {
    list: Vec<Distribution>,
    /// Number of blocks in the last batch, and in a full one.
    blocks: usize,
    full: usize,
}

/// The smallest latency that this share does not exceed; `None` with too few wake-ups for it.
fn quantile_of(batch: &Distribution, quantile: f64) -> Option<u64> {
    let mut below = 0;
    let reaches = |bucket: &Bucket| {
        below += bucket.count;
        below as f64 >= quantile * wakeups(batch)
    };
    let enough = batch.count() >= least_wakeups(quantile);
    batch.buckets().find(reaches).map(|bucket| bucket.lowest).filter(|_| enough)
}

const fn wakeups(batch: &Distribution) -> f64 {
    batch.count() as f64
}

impl Batches {
    /// Takes in the next block.
    pub(crate) fn add(&mut self, latency: &Distribution) {
        if latency.is_empty() {
            return;
        }
        self.full = self.full.max(1);
        match self.list.last_mut().filter(|_| self.blocks < self.full) {
            Some(last) => {
                last.open();
                last.merge(latency);
            }
            None => {
                self.pack();
                self.list.push(latency.packed());
                self.blocks = 0;
            }
        }
        self.blocks += 1;
        if self.list.len() > MOST {
            self.join();
        }
    }

    /// Frees spare memory; more blocks may follow.
    pub(crate) fn pack(&mut self) {
        if let Some(last) = self.list.last_mut() {
            *last = last.packed();
        }
    }

    fn join(&mut self) {
        // The last one is new and has no neighbour: `MOST` is even.
        self.full *= 2;
        let join = |pair: &[Distribution]| {
            let mut joined = pair[0].clone();
            pair[1..].iter().for_each(|other| joined.merge(other));
            joined
        };
        self.list = self.list.chunks(2).map(join).collect();
    }

    /// The `quantile` of each batch that has the wake-ups for it, in order.
    pub(crate) fn quantiles(&self, quantile: f64) -> Vec<f64> {
        self.list.iter().filter_map(|batch| quantile_of(batch, quantile)).map(|value| value as f64).collect()
    }

    /// 95 % interval of the `quantile` of `all`, the distribution of all batches together; `None` with too few batches, or if one of
    /// its ends lies beyond the data.
    pub(crate) fn interval(&self, all: &Distribution, quantile: f64) -> Option<Interval> {
        let ShareError { standard, t, .. } = self.error(all, quantile)?;
        between(all, quantile - t * standard, quantile + t * standard)
    }

    /// An interval that reaches further to the side of a long tail, most of which may not have occurred yet.
    pub(crate) fn skewed_interval(&self, all: &Distribution, quantile: f64) -> Option<Interval> {
        let error = self.error(all, quantile)?;
        let by = |side: f64| error.standard * error.t.max(side * skewed_t(side * error.t, error.skew));
        between(all, quantile - by(-1.0), quantile + by(1.0))
    }

    /// Error of the share of wake-ups below a quantile.
    fn error(&self, all: &Distribution, quantile: f64) -> Option<ShareError> {
        let at = value_at(all, quantile)?;
        self.error_of(all, quantile, at, |batch| batch.up_to(at))
    }

    /// The share of wake-ups with a reported latency of at most `value`, and its error; `None` as for `interval`.
    pub(crate) fn share_up_to(&self, all: &Distribution, value: u64) -> Option<(f64, ShareError)> {
        // The reported latency of a wake-up is the largest value of its bucket.
        let count = |batch: &Distribution| -> u64 {
            batch.buckets().take_while(|bucket| bucket.highest <= value).map(|bucket| bucket.count).sum()
        };
        let share = count(all) as f64 / all.count().max(1) as f64;
        Some((share, self.error_of(all, share, value, count)?))
    }

    /// Error of a share of wake-ups, those that `count` counts in each batch, which lie below about `at`.
    fn error_of(
        &self,
        all: &Distribution,
        quantile: f64,
        at: u64,
        count: impl Fn(&Distribution) -> u64,
    ) -> Option<ShareError> {
        let (n, m) = (all.count() as f64, self.list.len() as f64);
        // Shares far out in the tail are mostly noise, which hides how slowly the machine drifts; the median shows it.
        let middle = value_at(all, 0.5)?;
        let deviations = self.deviations(all, count);
        let level = if at == middle {
            Cow::Borrowed(&deviations)
        } else {
            Cow::Owned(self.deviations(all, |batch| batch.up_to(middle)))
        };
        let correlation = lag_one(&[&deviations]).max(lag_one(&[&level]));
        let effective = m / variance_inflation(&[&deviations], &[&level]);
        if self.list.len() < LEAST
            || effective < LEAST_EFFECTIVE
            || is_too_correlated(correlation, deviations.len())
        {
            return None;
        }
        let variance = deviations.iter().map(|deviation| deviation * deviation).sum::<f64>() * m / (m - 1.0)
            * m
            / effective;
        let t = StudentsT::new(0.0, 1.0, effective - 1.0).ok()?.inverse_cdf(0.975);
        // If no batch differs, as with a few distinct values, the share still has the error of a binomial share.
        let least = (quantile * (1.0 - quantile) / n).sqrt();
        let skew = skewness(&deviations) / (6.0 * effective.sqrt());
        Some(ShareError { standard: (variance.sqrt() / n).max(least), t, freedom: effective - 1.0, skew })
    }

    /// By how many wake-ups each batch deviates from its part of the whole count.
    fn deviations(&self, all: &Distribution, count: impl Fn(&Distribution) -> u64) -> Vec<f64> {
        let below: Vec<f64> = self.list.iter().map(|batch| count(batch) as f64).collect();
        let share = below.iter().sum::<f64>() / all.count() as f64;
        self.list.iter().zip(below).map(|(batch, below)| below - share * wakeups(batch)).collect()
    }
}

/// Error of the share of wake-ups below a quantile.
pub(crate) struct ShareError {
    /// Standard error.
    pub(crate) standard: f64,
    /// Half width of the interval, in standard errors.
    pub(crate) t: f64,
    /// Degrees of freedom of the standard error.
    pub(crate) freedom: f64,
    /// Skewness of the mean.
    skew: f64,
}

/// The latencies between two shares; `None` if one of them lies beyond the data.
fn between(all: &Distribution, low: f64, high: f64) -> Option<Interval> {
    let last = 1.0 - 1.0 / all.count() as f64;
    let inside = low > 0.0 && high < last;
    // The reported latency of a bucket is its largest value, so the lower end is that of the bucket below.
    inside.then_some(Interval { low: below(all, all.quantile(low)?), high: all.quantile(high)? })
}

/// Skewness of values about their mean, which is 0.
fn skewness(values: &[f64]) -> f64 {
    let moment = |power| values.iter().map(|value| value.powi(power)).sum::<f64>() / values.len() as f64;
    let variance = moment(2);
    if variance > 0.0 { moment(3) / variance.powf(1.5) } else { 0.0 }
}

/// A quantile of Student's distribution, for a mean with this skewness: a long tail of which little has occurred makes a mean too
/// small and its error with it.
///
/// Source: Johnson, JASA 73 (1978), in the form of Willink, Communications in Statistics 34 (2005), as used by Sequest.
fn skewed_t(t: f64, skew: f64) -> f64 {
    if skew.abs() < 1e-9 {
        return t;
    }
    ((1.0 + 6.0 * skew * (t - skew)).cbrt() - 1.0) / (2.0 * skew)
}

/// A `quantile` in nanoseconds.
fn value_at(all: &Distribution, quantile: f64) -> Option<u64> {
    Some(all.quantile(quantile)?.as_nanos().max(0).unsigned_abs())
}

/// The largest value of the bucket below that of `value`; `value` itself if there is none.
fn below(all: &Distribution, value: Latency) -> Latency {
    let at = value.as_nanos().max(0).unsigned_abs();
    let lower = all.buckets().take_while(|bucket| bucket.highest < at).last();
    lower.and_then(|bucket| i64::try_from(bucket.highest).ok()).map_or(value, Latency::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distribution(latencies: impl IntoIterator<Item = i64>) -> Distribution {
        let mut all = Distribution::default();
        latencies.into_iter().for_each(|nanos| all.record(Latency::from_nanos(nanos)));
        all
    }

    fn interval(list: &[Distribution], quantile: f64) -> Option<Interval> {
        let (mut batches, mut all) = (Batches::default(), Distribution::default());
        for batch in list {
            batches.add(batch);
            all.merge(batch);
        }
        batches.interval(&all, quantile)
    }

    #[test]
    fn stretches_that_lie_apart_are_less_sure() {
        let alike: Vec<_> = (0..12).map(|_| distribution(0..200)).collect();
        let apart: Vec<_> = (0..12)
            .map(|number| distribution(10 * (number * 5 % 12)..10 * (number * 5 % 12) + 200))
            .collect();
        let width = |interval: Interval| interval.high.as_nanos() - interval.low.as_nanos();
        let (alike, apart) = (interval(&alike, 0.5).unwrap(), interval(&apart, 0.5).unwrap());
        assert!((90..=110).contains(&alike.low.as_nanos()) && width(alike) < 20, "{alike:?}");
        assert!(width(apart) > 2 * width(alike), "{apart:?}");
    }

    /// By hand: (1 + 6 · 0.05 · (2 - 0.05))^⅓ = 1.165 94 and (1 - 6 · 0.05 · (2 + 0.05))^⅓ = 0.727 48.
    #[test]
    fn what_leans_is_less_sure_on_one_side() {
        for (t, skew, expected) in
            [(2.0, 0.05, 1.659_4), (-2.0, 0.05, -2.725_2), (2.0, -0.05, 2.725_2), (-2.0, 0.0, -2.0)]
        {
            assert!((skewed_t(t, skew) - expected).abs() < 1e-4, "{t} {skew}: {}", skewed_t(t, skew));
        }
        assert!((skewness(&[-1.0, -1.0, -1.0, 3.0]) - 2.0 / 3_f64.sqrt()).abs() < 1e-12);
        assert!(skewness(&[0.0, 0.0]).abs() < 1e-12);
    }

    #[test]
    fn few_bad_stretches_may_have_been_more() {
        let stretch = |late| {
            distribution((0..1_000).map(|number| if number < late { 9_000 + 10 * number } else { number }))
        };
        let (mut batches, mut all) = (Batches::default(), Distribution::default());
        for place in 0..24 {
            let batch = stretch(if [2, 9, 12, 21].contains(&place) { 30 } else { 2 });
            batches.add(&batch);
            all.merge(&batch);
        }
        let (even, skewed) =
            (batches.interval(&all, 0.99).unwrap(), batches.skewed_interval(&all, 0.99).unwrap());
        assert!(skewed.low == even.low && skewed.high > even.high, "{even:?} {skewed:?}");
    }

    #[test]
    fn what_is_too_little_has_no_interval() {
        let few: Vec<_> = (0..LEAST - 1).map(|_| distribution(0..200)).collect();
        assert_eq!(interval(&few, 0.5), None);
        // Nothing can be told beyond the second-largest of 120.
        let short: Vec<_> = (0..12).map(|_| distribution(0..10)).collect();
        assert_eq!(interval(&short, 0.99), None);
    }

    #[test]
    fn joined_stretches_hold_everything_once() {
        let mut batches = Batches::default();
        (0..1_000).for_each(|number| batches.add(&distribution([number, number + 1, 7])));
        assert!(batches.list.len() <= MOST && batches.list.len() >= MOST / 2);
        assert_eq!(batches.list.iter().map(Distribution::count).sum::<u64>(), 3_000);
    }
}
