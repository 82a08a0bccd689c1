//! Upper bound for the rate of larger latencies than the maximum, if late wake-ups come in clusters.
//!
//! n independent wake-ups without a larger latency leave open that about one in n / 3 is larger. Wake-ups are not independent,
//! in two ways: one cause makes several late, and a machine's level drifts. So n is multiplied by an extremal index: the share
//! of late wake-ups that are not repetitions of one another, the smallest at any threshold, divided by the variance inflation
//! of autocorrelated batches.

use std::cmp::Reverse;

use howlate_model::{Block, Distribution, MonotonicTime, WorstWakeup};
use serde::Serialize;

use crate::autocorrelation::{is_too_correlated, lag_one, variance_inflation};
use crate::exceedance::probability_at_most;

/// Most batches stored. Beyond that, neighbours are joined, so that memory stays constant.
const MOST: usize = 128;
/// Batches with a higher autocorrelation are joined, while there are at least twice as many as [`LEAST`].
const MOST_CORRELATION: f64 = 0.3;
const LEAST: usize = 10;

/// Upper bound for the rate of larger latencies than the maximum.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bound {
    /// At most one wake-up in this many is later.
    pub one_in: u64,
    /// The share of late wake-ups that are not repetitions of one another.
    pub extremal_index: f64,
    /// Variance inflation of autocorrelated batches.
    pub(crate) inflation: f64,
}

/// The largest latency of each batch of a condition, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Maxima {
    batches: Vec<BatchMaximum>,
    /// Number of blocks in the last batch, and in a full one.
    blocks: usize,
    full: usize,
}

#[derive(Clone, Copy, Debug)]
struct BatchMaximum {
    until: MonotonicTime,
    max: i64,
    /// The median; for joined batches the mean of their medians.
    level: f64,
    wakeups: u64,
}

impl BatchMaximum {
    fn joined(pair: &[Self]) -> Self {
        let level = pair.iter().map(|batch| batch.level).sum::<f64>() / pair.len() as f64;
        let max = pair.iter().map(|batch| batch.max).max().unwrap_or(i64::MIN);
        let wakeups = pair.iter().map(|batch| batch.wakeups).sum();
        Self { until: pair[pair.len() - 1].until, max, level, wakeups }
    }
}

impl Maxima {
    /// Takes in the next block.
    pub(crate) fn add(&mut self, block: &Block) {
        self.take(block.until, &block.latency);
    }

    /// Takes in the next batch.
    pub(crate) fn take(&mut self, until: MonotonicTime, latency: &Distribution) {
        if let (Some(max), Some(median)) = (latency.max(), latency.quantile(0.5)) {
            let (max, level, wakeups) = (max.as_nanos(), median.as_nanos() as f64, latency.count());
            self.push(BatchMaximum { until, max, level, wakeups });
        }
    }

    fn push(&mut self, batch: BatchMaximum) {
        self.full = self.full.max(1);
        match self.batches.last_mut().filter(|_| self.blocks < self.full) {
            Some(last) => *last = BatchMaximum::joined(&[*last, batch]),
            None => {
                self.batches.push(batch);
                self.blocks = 0;
            }
        }
        self.blocks += 1;
        if self.batches.len() > MOST {
            // The last one is new and has no neighbour: `MOST` is even.
            self.full *= 2;
            self.batches = self.batches.chunks(2).map(BatchMaximum::joined).collect();
        }
    }

    /// Batches joined until each has about as many wake-ups as the largest: blocks grow with the length of a turn, and more wake-ups
    /// have a larger maximum.
    fn equal_batches(&self) -> Vec<BatchMaximum> {
        let size = self.batches.iter().map(|batch| batch.wakeups).max().unwrap_or(0);
        let mut joined: Vec<BatchMaximum> = Vec::new();
        for batch in &self.batches {
            // A block that ended a little early counts as full.
            match joined.last_mut().filter(|last| last.wakeups + size / 16 < size) {
                Some(last) => *last = BatchMaximum::joined(&[*last, *batch]),
                None => joined.push(*batch),
            }
        }
        joined
    }

    /// The bound at `confidence` after `count` wake-ups, of which `worst` are the largest. `None` if batches are autocorrelated however
    /// long they are made: then the run was too short for how slowly the machine drifts.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(crate) fn bound(
        &self,
        count: u64,
        latency: &Distribution,
        worst: &[WorstWakeup],
        confidence: f64,
    ) -> Option<Bound> {
        let mut batches = self.equal_batches();
        while correlation(&batches) > MOST_CORRELATION && batches.len() >= 2 * LEAST {
            batches = batches.chunks(2).map(BatchMaximum::joined).collect();
        }
        if is_too_correlated(correlation(&batches), batches.len()) {
            return None;
        }
        let inflation = variance_inflation(&[&ranks(&batches)], &[&levels(&batches)]);
        let isolated =
            isolated_by_threshold(&batches, latency).fold(isolated_share(&batches, worst)?, f64::min);
        let extremal_index = isolated / inflation;
        let probability = probability_at_most(0.0, count as f64 * extremal_index, confidence)?;
        Some(Bound { one_in: (1.0 / probability) as u64, extremal_index, inflation })
    }
}

/// Autocorrelation of batches; a maximum is mostly noise and hides it, a median shows it.
fn correlation(batches: &[BatchMaximum]) -> f64 {
    lag_one(&[&ranks(batches)]).max(lag_one(&[&levels(batches)]))
}

fn levels(batches: &[BatchMaximum]) -> Vec<f64> {
    batches.iter().map(|batch| batch.level).collect()
}

/// Ranks of the maxima instead of their sizes, because one may be larger than all others together.
fn ranks(batches: &[BatchMaximum]) -> Vec<f64> {
    let mut sorted: Vec<i64> = batches.iter().map(|batch| batch.max).collect();
    sorted.sort_unstable();
    batches.iter().map(|batch| sorted.partition_point(|value| *value < batch.max) as f64).collect()
}

/// The share of the worst wake-ups that are alone in their batch (blocks estimator of the extremal index: Smith & Weissman,
/// J. R. Statist. Soc. B 56 (1994)).
fn isolated_share(batches: &[BatchMaximum], worst: &[WorstWakeup]) -> Option<f64> {
    let place = |late: &WorstWakeup| batches.partition_point(|batch| batch.until < late.at);
    let mut places: Vec<usize> = worst.iter().map(place).collect();
    places.sort_unstable();
    places.dedup();
    (!worst.is_empty()).then(|| places.len() as f64 / worst.len() as f64)
}

/// That share from more late wake-ups than the stored worst ones, all of which may be one long burst: at several thresholds, each the
/// maximum of some batch. Independent wake-ups would reach a threshold in as many batches as if each chose its batch at random,
/// which the logarithm accounts for (Smith & Weissman, as above).
fn isolated_by_threshold(batches: &[BatchMaximum], latency: &Distribution) -> impl Iterator<Item = f64> {
    let mut maxima: Vec<i64> = batches.iter().map(|batch| batch.max).collect();
    maxima.sort_unstable_by_key(|max| Reverse(*max));
    let all = maxima.len();
    // A few maxima above the threshold, as bursts may be few; and shares of all, as there may be many.
    let exceeding = [1, 2, 5, 10, all / 8, all / 4, all / 3];
    exceeding.into_iter().filter_map(move |place| {
        let threshold = *maxima.get(place).filter(|_| place > 0)?;
        let is_beyond = |lowest: u64| i64::try_from(lowest).is_ok_and(|lowest| lowest > threshold);
        let beyond = || latency.buckets().filter(|bucket| is_beyond(bucket.lowest));
        // Maxima in the bucket of the threshold do not exceed it, as their neighbours there do not.
        let lowest = i64::try_from(beyond().next()?.lowest).ok()?;
        let reached = maxima.iter().filter(|max| **max >= lowest).count() as f64 / all as f64;
        let wakeups: u64 = beyond().map(|bucket| bucket.count).sum();
        Some(-(-reached).ln_1p() * all as f64 / wakeups as f64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::Latency;

    fn batch(millis: i64, max: i64) -> BatchMaximum {
        BatchMaximum {
            until: MonotonicTime::from_nanos(millis * 1_000_000),
            max,
            level: max as f64 / 10.0,
            wakeups: 1_000,
        }
    }

    /// A minute of seconds whose maxima have no pattern; the worst wake-ups are at the times `late`.
    fn minute(late: &[i64]) -> Option<Bound> {
        let at = |millis: i64| MonotonicTime::from_nanos(millis * 1_000_000);
        let mut maxima = Maxima::default();
        (1..=60).for_each(|second| maxima.push(batch(1_000 * second, second * 7_919 % 101)));
        let worst = |millis: &i64| WorstWakeup { at: at(*millis), latency: Latency::from_nanos(1_000) };
        maxima.bound(60_000, &Distribution::default(), &late.iter().map(worst).collect::<Vec<_>>(), 0.95)
    }

    /// A minute of quiet seconds; in three of them all wake-ups of a burst are late. The ten worst are from one burst.
    #[test]
    fn a_burst_of_more_than_the_worst_that_are_kept_counts_as_one() {
        let bound = |lasts: i64| {
            let (mut maxima, mut latency) = (Maxima::default(), Distribution::default());
            for second in 1..=60 {
                let max = second * 7_919 % 101 + if second % 20 == 7 { 1_000 * second } else { 0 };
                (0..lasts).for_each(|number| latency.record(Latency::from_nanos(max - number % 3)));
                maxima.push(batch(1_000 * second, max));
            }
            let worst = WorstWakeup {
                at: MonotonicTime::from_nanos(47_000_000_000),
                latency: Latency::from_nanos(1),
            };
            maxima.bound(60_000, &latency, &[worst; 10], 0.95).unwrap()
        };
        let (short, long) = (bound(10), bound(300));
        let is_one_in = |bound: Bound, wakeups: f64| (bound.extremal_index * wakeups - 1.0).abs() < 0.01;
        assert!(is_one_in(short, 10.0) && is_one_in(long, 300.0), "{short:?} {long:?}");
    }

    #[test]
    fn what_comes_together_supports_less() {
        let alone = minute(&[500, 7_500, 21_500, 44_500]).unwrap();
        let together = minute(&[500, 501, 502, 44_500]).unwrap();
        // A third of 60 000, less what sixty maxima cannot show of their autocorrelation.
        assert!((12_000..=20_030).contains(&alone.one_in), "{alone:?}");
        assert!((together.extremal_index / alone.extremal_index - 0.5).abs() < 1e-9, "{together:?}");
        assert!(together.one_in.abs_diff(alone.one_in / 2) <= 1);
        assert_eq!(minute(&[]), None);
    }

    #[test]
    fn a_machine_that_wanders_supports_less() {
        let at = |second: i64| MonotonicTime::from_nanos(second * 1_000_000_000);
        let bound = |level: fn(i64) -> i64| {
            let mut maxima = Maxima::default();
            (1..=60).for_each(|second| maxima.push(batch(1_000 * second, level(second))));
            let worst = [WorstWakeup { at: at(30), latency: Latency::from_nanos(1_000) }];
            maxima.bound(60_000, &Distribution::default(), &worst, 0.95).map(|bound| bound.one_in)
        };
        // Levels that last for two seconds, and one that rises all the time.
        let calm = bound(|second| second * 7_919 % 101).unwrap();
        let wandering = bound(|second| second / 2 * 7_919 % 101).unwrap();
        assert!(wandering < calm, "{calm} {wandering}");
        assert_eq!(bound(|second| second), None);
    }

    #[test]
    fn joined_stretches_hold_every_maximum_in_order() {
        let mut maxima = Maxima::default();
        (0..10_000).for_each(|second| maxima.push(batch(second, second)));
        assert!(maxima.batches.len() <= MOST && maxima.batches.len() > MOST / 2 - 1);
        assert!(maxima.batches.iter().all(|batch| batch.max * 1_000_000 == batch.until.as_nanos()));
        assert!(maxima.batches.is_sorted_by_key(|batch| batch.max));
        assert_eq!(maxima.batches.last().unwrap().max, 9_999);
    }
}
