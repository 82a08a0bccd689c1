//! How sure a percentile is: from what stretches of the run say of it.
//!
//! Order statistics would take wake-ups to be independent, which they are not. So the share of wake-ups at or
//! below the percentile is counted stretch by stretch: how far these shares lie apart says how sure the whole
//! share is, and the distribution turns that into latencies. Source of the turning: Woodruff, JASA 47
//! (1952); of the stretches: batch means, Schmeiser, Operations Research 30 (1982).

use std::borrow::Cow;

use howlate_model::{Bucket, Distribution, Latency};
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::autocorrelation::{inflation_beside, is_too_alike, lag_one};
use crate::{Interval, least_wakeups};

/// Stretches kept. When there are more, neighbours are joined, so that memory stays constant.
const MOST: usize = 32;
/// Fewer stretches say nothing of how far they lie apart.
const LEAST: usize = 6;
/// The same of stretches that are like their neighbours, and so are worth fewer.
const LEAST_WORTH: f64 = 3.0;

/// The wake-ups of a condition by stretch, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stretches {
    list: Vec<Distribution>,
    /// How many blocks the last stretch holds, and how many make one.
    blocks: usize,
    full: usize,
}

/// The smallest latency that this share does not exceed; `None` where there are too few for it.
fn quantile_of(stretch: &Distribution, quantile: f64) -> Option<u64> {
    let mut below = 0;
    let reaches = |one: &Bucket| {
        below += one.count;
        below as f64 >= quantile * wake_ups(stretch)
    };
    let enough = stretch.count() >= least_wakeups(quantile);
    stretch.buckets().find(reaches).map(|one| one.lowest).filter(|_| enough)
}

const fn wake_ups(stretch: &Distribution) -> f64 {
    stretch.count() as f64
}

impl Stretches {
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

    /// Takes as little room as it needs; more may come still.
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

    /// A `quantile` of each stretch that has the wake-ups for it, in order.
    pub(crate) fn quantiles(&self, quantile: f64) -> Vec<f64> {
        self.list.iter().filter_map(|one| quantile_of(one, quantile)).map(|value| value as f64).collect()
    }

    /// 95 % interval of a `quantile` of `all`, which is the distribution of these stretches; `None` when there are
    /// too few of them, or when one of its ends lies beyond what was seen.
    pub(crate) fn interval(&self, all: &Distribution, quantile: f64) -> Option<Interval> {
        let Error { standard, t, .. } = self.error(all, quantile)?;
        between(all, quantile - t * standard, quantile + t * standard)
    }

    /// The same, reaching further to the side where more may be that was not seen.
    pub(crate) fn leaning_interval(&self, all: &Distribution, quantile: f64) -> Option<Interval> {
        let error = self.error(all, quantile)?;
        let by = |side: f64| error.standard * error.t.max(side * leaning(side * error.t, error.lean));
        between(all, quantile - by(-1.0), quantile + by(1.0))
    }

    /// By how much the share of wake-ups below a quantile may be off.
    fn error(&self, all: &Distribution, quantile: f64) -> Option<Error> {
        let at = value_at(all, quantile)?;
        self.error_of(all, quantile, at, |one| one.up_to(at))
    }

    /// The share of wake-ups that are told as no more than a value, and by how much it may be off: `None` as for an interval.
    pub(crate) fn share_up_to(&self, all: &Distribution, value: u64) -> Option<(f64, Error)> {
        // A wake-up is told by the largest value of its bucket.
        let told = |one: &Distribution| -> u64 {
            one.buckets().take_while(|bucket| bucket.highest <= value).map(|bucket| bucket.count).sum()
        };
        let share = told(all) as f64 / all.count().max(1) as f64;
        Some((share, self.error_of(all, share, value, told)?))
    }

    /// By how much a share of wake-ups may be off that `count` counts in each stretch, those below about a value.
    fn error_of(
        &self,
        all: &Distribution,
        quantile: f64,
        at: u64,
        count: impl Fn(&Distribution) -> u64,
    ) -> Option<Error> {
        let (n, m) = (all.count() as f64, self.list.len() as f64);
        // What is far out is mostly noise and hides how slowly the machine wanders; the median shows it.
        let middle = value_at(all, 0.5)?;
        let apart = self.apart(all, count);
        let level = if at == middle {
            Cow::Borrowed(&apart)
        } else {
            Cow::Owned(self.apart(all, |one| one.up_to(middle)))
        };
        let likeness = lag_one(&[&apart]).max(lag_one(&[&level]));
        let worth = m / inflation_beside(&[&apart], &[&level]);
        if self.list.len() < LEAST || worth < LEAST_WORTH || is_too_alike(likeness, apart.len()) {
            return None;
        }
        let variance = apart.iter().map(|one| one * one).sum::<f64>() * m / (m - 1.0) * m / worth;
        let t = StudentsT::new(0.0, 1.0, worth - 1.0).ok()?.inverse_cdf(0.975);
        // Where no stretch differs, as between a few values, the share is still that of so many wake-ups.
        let least = (quantile * (1.0 - quantile) / n).sqrt();
        let lean = skewness(&apart) / (6.0 * worth.sqrt());
        Some(Error { standard: (variance.sqrt() / n).max(least), t, freedom: worth - 1.0, lean })
    }

    /// How many more wake-ups of each stretch are counted than its share of all.
    fn apart(&self, all: &Distribution, count: impl Fn(&Distribution) -> u64) -> Vec<f64> {
        let below: Vec<f64> = self.list.iter().map(|one| count(one) as f64).collect();
        let share = below.iter().sum::<f64>() / all.count() as f64;
        self.list.iter().zip(below).map(|(one, below)| below - share * wake_ups(one)).collect()
    }
}

/// How sure the share of wake-ups below a quantile is.
pub(crate) struct Error {
    /// Its standard error, and how many of them it may be off.
    pub(crate) standard: f64,
    pub(crate) t: f64,
    /// Degrees of freedom of the standard error.
    pub(crate) freedom: f64,
    /// How skewed its mean is.
    lean: f64,
}

/// The latencies between two shares; `None` where one of them lies beyond what was seen.
fn between(all: &Distribution, low: f64, high: f64) -> Option<Interval> {
    let last = 1.0 - 1.0 / all.count() as f64;
    let inside = low > 0.0 && high < last;
    // A bucket is told by its largest value; the lower end is that of the bucket below.
    inside.then_some(Interval { low: below(all, all.quantile(low)?), high: all.quantile(high)? })
}

/// The skewness of values about their mean, which is 0.
fn skewness(values: &[f64]) -> f64 {
    let moment = |power| values.iter().map(|one| one.powi(power)).sum::<f64>() / values.len() as f64;
    let variance = moment(2);
    if variance > 0.0 { moment(3) / variance.powf(1.5) } else { 0.0 }
}

/// A quantile of Student's distribution, for a mean that leans by so much: a long tail of which little was seen makes a mean too small
/// and its error too small with it.
///
/// Source: Johnson, JASA 73 (1978), in the form of Willink, Communications in Statistics 34 (2005), as Sequest uses it.
fn leaning(t: f64, lean: f64) -> f64 {
    if lean.abs() < 1e-9 {
        return t;
    }
    ((1.0 + 6.0 * lean * (t - lean)).cbrt() - 1.0) / (2.0 * lean)
}

/// A `quantile` in nanoseconds.
fn value_at(all: &Distribution, quantile: f64) -> Option<u64> {
    Some(all.quantile(quantile)?.as_nanos().max(0).unsigned_abs())
}

/// The largest value of the bucket below the one of `value`; `value` itself where there is none.
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
        latencies.into_iter().for_each(|one| all.record(Latency::from_nanos(one)));
        all
    }

    fn interval(stretches: &[Distribution], quantile: f64) -> Option<Interval> {
        let (mut kept, mut all) = (Stretches::default(), Distribution::default());
        for one in stretches {
            kept.add(one);
            all.merge(one);
        }
        kept.interval(&all, quantile)
    }

    #[test]
    fn stretches_that_lie_apart_are_less_sure() {
        let alike: Vec<_> = (0..12).map(|_| distribution(0..200)).collect();
        let apart: Vec<_> =
            (0..12).map(|one| distribution(10 * (one * 5 % 12)..10 * (one * 5 % 12) + 200)).collect();
        let width = |one: Interval| one.high.as_nanos() - one.low.as_nanos();
        let (alike, apart) = (interval(&alike, 0.5).unwrap(), interval(&apart, 0.5).unwrap());
        assert!((90..=110).contains(&alike.low.as_nanos()) && width(alike) < 20, "{alike:?}");
        assert!(width(apart) > 2 * width(alike), "{apart:?}");
    }

    /// By hand: (1 + 6 · 0.05 · (2 - 0.05))^⅓ = 1.165 94 and (1 - 6 · 0.05 · (2 + 0.05))^⅓ = 0.727 48.
    #[test]
    fn what_leans_is_less_sure_on_one_side() {
        for (t, lean, expected) in
            [(2.0, 0.05, 1.659_4), (-2.0, 0.05, -2.725_2), (2.0, -0.05, 2.725_2), (-2.0, 0.0, -2.0)]
        {
            assert!((leaning(t, lean) - expected).abs() < 1e-4, "{t} {lean}: {}", leaning(t, lean));
        }
        assert!((skewness(&[-1.0, -1.0, -1.0, 3.0]) - 2.0 / 3_f64.sqrt()).abs() < 1e-12);
        assert!(skewness(&[0.0, 0.0]).abs() < 1e-12);
    }

    #[test]
    fn few_bad_stretches_may_have_been_more() {
        let stretch =
            |late| distribution((0..1_000).map(|one| if one < late { 9_000 + 10 * one } else { one }));
        let (mut kept, mut all) = (Stretches::default(), Distribution::default());
        for place in 0..24 {
            let one = stretch(if [2, 9, 12, 21].contains(&place) { 30 } else { 2 });
            kept.add(&one);
            all.merge(&one);
        }
        let (even, leaning) =
            (kept.interval(&all, 0.99).unwrap(), kept.leaning_interval(&all, 0.99).unwrap());
        assert!(leaning.low == even.low && leaning.high > even.high, "{even:?} {leaning:?}");
    }

    #[test]
    fn what_is_too_little_has_no_interval() {
        let few: Vec<_> = (0..LEAST - 1).map(|_| distribution(0..200)).collect();
        assert_eq!(interval(&few, 0.5), None);
        // Beyond the second-largest of 120 there is no telling.
        let short: Vec<_> = (0..12).map(|_| distribution(0..10)).collect();
        assert_eq!(interval(&short, 0.99), None);
    }

    #[test]
    fn joined_stretches_hold_everything_once() {
        let mut stretches = Stretches::default();
        (0..1_000).for_each(|one| stretches.add(&distribution([one, one + 1, 7])));
        assert!(stretches.list.len() <= MOST && stretches.list.len() >= MOST / 2);
        assert_eq!(stretches.list.iter().map(Distribution::count).sum::<u64>(), 3_000);
    }
}
