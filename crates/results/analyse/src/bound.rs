//! What having seen no later wake-up is worth, when late ones come together.
//!
//! n independent wake-ups without a later one leave open that one in about n / 3 is later. Wake-ups are not
//! independent, in two ways: one cause makes several late, and a machine's level wanders. So n is multiplied
//! by an extremal index: the share of late wake-ups that are not repetitions of one another, the smallest that any threshold
//! shows, times the share of stretches that are not like the one before.

use std::cmp::Reverse;

use howlate_model::{Block, Distribution, MonotonicTime, WorstWakeup};
use serde::Serialize;

use crate::autocorrelation::{inflation_beside, is_too_alike, lag_one};
use crate::exceedance::probability_at_most;

/// Stretches kept. When there are more, neighbours are joined, so that memory stays constant.
const MOST: usize = 128;
/// Stretches whose neighbours are more alike than this are joined, while there are twice as many as [`LEAST`].
const ALIKE: f64 = 0.3;
const LEAST: usize = 10;

/// How much later wake-ups there may be than the worst that was seen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bound {
    /// At most one wake-up in this many is later.
    pub one_in: u64,
    /// The share of late wake-ups that are not repetitions of one another.
    pub extremal_index: f64,
    /// By how much stretches that are like their neighbours are worth less than others.
    pub(crate) inflation: f64,
}

/// The largest latency of every stretch of a condition, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Maxima {
    stretches: Vec<Stretch>,
    /// How many blocks the last stretch holds, and how many make one.
    blocks: usize,
    full: usize,
}

#[derive(Clone, Copy, Debug)]
struct Stretch {
    until: MonotonicTime,
    max: i64,
    /// The median; that of joined stretches is the mean of theirs.
    level: f64,
    wakeups: u64,
}

impl Stretch {
    fn joined(pair: &[Self]) -> Self {
        let level = pair.iter().map(|one| one.level).sum::<f64>() / pair.len() as f64;
        let max = pair.iter().map(|one| one.max).max().unwrap_or(i64::MIN);
        let wakeups = pair.iter().map(|one| one.wakeups).sum();
        Self { until: pair[pair.len() - 1].until, max, level, wakeups }
    }
}

impl Maxima {
    /// Takes in the next block.
    pub(crate) fn add(&mut self, block: &Block) {
        self.take(block.until, &block.latency);
    }

    /// Takes in the next stretch of time.
    pub(crate) fn take(&mut self, until: MonotonicTime, latency: &Distribution) {
        if let (Some(max), Some(median)) = (latency.max(), latency.quantile(0.5)) {
            let (max, level, wakeups) = (max.as_nanos(), median.as_nanos() as f64, latency.count());
            self.push(Stretch { until, max, level, wakeups });
        }
    }

    fn push(&mut self, stretch: Stretch) {
        self.full = self.full.max(1);
        match self.stretches.last_mut().filter(|_| self.blocks < self.full) {
            Some(last) => *last = Stretch::joined(&[*last, stretch]),
            None => {
                self.stretches.push(stretch);
                self.blocks = 0;
            }
        }
        self.blocks += 1;
        if self.stretches.len() > MOST {
            // The last one is new and has no neighbour: `MOST` is even.
            self.full *= 2;
            self.stretches = self.stretches.chunks(2).map(Stretch::joined).collect();
        }
    }

    /// Neighbours joined until each has as many wake-ups as the largest has: blocks grow with the time that a turn
    /// takes, and more wake-ups have a larger maximum.
    fn of_one_size(&self) -> Vec<Stretch> {
        let size = self.stretches.iter().map(|one| one.wakeups).max().unwrap_or(0);
        let mut joined: Vec<Stretch> = Vec::new();
        for stretch in &self.stretches {
            // A block cut a little early is a block all the same.
            match joined.last_mut().filter(|last| last.wakeups + size / 16 < size) {
                Some(last) => *last = Stretch::joined(&[*last, *stretch]),
                None => joined.push(*stretch),
            }
        }
        joined
    }

    /// What `count` wake-ups support of which `worst` are the worst, at `confidence`. Nothing, where stretches are
    /// like their neighbours however long they are made: then the run was too short for how slowly the machine wanders.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(crate) fn bound(
        &self,
        count: u64,
        latency: &Distribution,
        worst: &[WorstWakeup],
        confidence: f64,
    ) -> Option<Bound> {
        let mut stretches = self.of_one_size();
        while likeness(&stretches) > ALIKE && stretches.len() >= 2 * LEAST {
            stretches = stretches.chunks(2).map(Stretch::joined).collect();
        }
        if is_too_alike(likeness(&stretches), stretches.len()) {
            return None;
        }
        let inflation = inflation_beside(&[&ranks(&stretches)], &[&levels(&stretches)]);
        let apart = apart_by_stretch(&stretches, latency).fold(apart(&stretches, worst)?, f64::min);
        let extremal_index = apart / inflation;
        let probability = probability_at_most(0, count as f64 * extremal_index, confidence)?;
        Some(Bound { one_in: (1.0 / probability) as u64, extremal_index, inflation })
    }
}

/// How alike neighbours are; a maximum is mostly noise and hides it, a median shows it.
fn likeness(stretches: &[Stretch]) -> f64 {
    lag_one(&[&ranks(stretches)]).max(lag_one(&[&levels(stretches)]))
}

fn levels(stretches: &[Stretch]) -> Vec<f64> {
    stretches.iter().map(|one| one.level).collect()
}

/// Ranks of the maxima instead of their sizes, because one may be larger than all others together.
fn ranks(stretches: &[Stretch]) -> Vec<f64> {
    let mut sorted: Vec<i64> = stretches.iter().map(|one| one.max).collect();
    sorted.sort_unstable();
    stretches.iter().map(|one| sorted.partition_point(|other| *other < one.max) as f64).collect()
}

/// The share of the worst wake-ups that are in a stretch without another one (blocks estimator of the
/// extremal index: Smith & Weissman, J. R. Statist. Soc. B 56 (1994)).
fn apart(stretches: &[Stretch], worst: &[WorstWakeup]) -> Option<f64> {
    let place = |one: &WorstWakeup| stretches.partition_point(|stretch| stretch.until < one.at);
    let mut places: Vec<usize> = worst.iter().map(place).collect();
    places.sort_unstable();
    places.dedup();
    (!worst.is_empty()).then(|| places.len() as f64 / worst.len() as f64)
}

/// The same by more late wake-ups than are kept as the worst, of which one long burst may be all: at several thresholds, the largest maxima of all
/// stretches but some. Of independent wake-ups, so many stretches have one beyond a threshold as if each wake-up chose its stretch by chance, which
/// the logarithm allows for (Smith & Weissman, the same).
fn apart_by_stretch(stretches: &[Stretch], latency: &Distribution) -> impl Iterator<Item = f64> {
    let mut maxima: Vec<i64> = stretches.iter().map(|one| one.max).collect();
    maxima.sort_unstable_by_key(|max| Reverse(*max));
    let all = maxima.len();
    // Few, as bursts may be; and shares of all, as there may be many.
    let left_out = [1, 2, 5, 10, all / 8, all / 4, all / 3];
    left_out.into_iter().filter_map(move |place| {
        let threshold = *maxima.get(place).filter(|_| place > 0)?;
        let is_beyond = |lowest: u64| i64::try_from(lowest).is_ok_and(|lowest| lowest > threshold);
        let beyond = || latency.buckets().filter(|bucket| is_beyond(bucket.lowest));
        // Maxima that share a bucket with the threshold are not beyond it, as their neighbours there are not.
        let lowest = i64::try_from(beyond().next()?.lowest).ok()?;
        let with = maxima.iter().filter(|max| **max >= lowest).count() as f64 / all as f64;
        let wakeups: u64 = beyond().map(|bucket| bucket.count).sum();
        Some(-(-with).ln_1p() * all as f64 / wakeups as f64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::Latency;

    fn stretch(millis: i64, max: i64) -> Stretch {
        Stretch {
            until: MonotonicTime::from_nanos(millis * 1_000_000),
            max,
            level: max as f64 / 10.0,
            wakeups: 1_000,
        }
    }

    /// A minute of seconds whose maxima have no pattern; the worst wake-ups are where `late` says.
    fn minute(late: &[i64]) -> Option<Bound> {
        let at = |millis: i64| MonotonicTime::from_nanos(millis * 1_000_000);
        let mut maxima = Maxima::default();
        (1..=60).for_each(|second| maxima.push(stretch(1_000 * second, second * 7_919 % 101)));
        let worst = |millis: &i64| WorstWakeup { at: at(*millis), latency: Latency::from_nanos(1_000) };
        maxima.bound(60_000, &Distribution::default(), &late.iter().map(worst).collect::<Vec<_>>(), 0.95)
    }

    /// A minute of quiet seconds; in three of them all wake-ups of a burst are late. The ten worst are of one.
    #[test]
    fn a_burst_of_more_than_the_worst_that_are_kept_counts_as_one() {
        let bound = |lasts: i64| {
            let (mut maxima, mut latency) = (Maxima::default(), Distribution::default());
            for second in 1..=60 {
                let max = second * 7_919 % 101 + if second % 20 == 7 { 1_000 * second } else { 0 };
                (0..lasts).for_each(|one| latency.record(Latency::from_nanos(max - one % 3)));
                maxima.push(stretch(1_000 * second, max));
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
        // A third of 60 000, less what sixty maxima cannot show of their likeness.
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
            (1..=60).for_each(|second| maxima.push(stretch(1_000 * second, level(second))));
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
        (0..10_000).for_each(|second| maxima.push(stretch(second, second)));
        assert!(maxima.stretches.len() <= MOST && maxima.stretches.len() > MOST / 2 - 1);
        assert!(maxima.stretches.iter().all(|one| one.max * 1_000_000 == one.until.as_nanos()));
        assert!(maxima.stretches.is_sorted_by_key(|one| one.max));
        assert_eq!(maxima.stretches.last().unwrap().max, 9_999);
    }
}
