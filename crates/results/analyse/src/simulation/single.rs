//! What is said of one condition: the intervals of its percentiles, and what its maximum is worth.

use std::cmp::Reverse;
use std::ops::Range;

use howlate_model::{Bucket, Distribution, Latency, Span};

use super::recorded::{Clocked, track};
use super::series::{Series, Simulated};
use super::tally::{Scope, Tally, tallied};
use crate::compare::Maximum;
use crate::{Interval, Outcome};

/// Wake-ups that a series is known by, for each trial; at least those of a hundred.
const KNOWN: usize = 4_000;
/// Machines that it is known by: what wanders slowly has as many levels.
const MACHINES: usize = 4_000;
/// Bursts come once in twenty thousand wake-ups.
const KNOWN_OF_BURSTS: usize = 20_000_000;
/// The worst of them, each by itself: in a bucket there is more than one that matters.
const LATEST: usize = 40_000;

/// What is known of a series: the truth that statements are held against.
pub(crate) struct Truth {
    pub(crate) all: Distribution,
    /// The worst wake-ups, the worst first.
    worst: Vec<i64>,
    /// Of so many.
    known: usize,
}

impl Truth {
    #[allow(clippy::cast_possible_truncation, reason = "simulated latencies are small")]
    pub(crate) fn new(series: Series, trials: u64) -> Self {
        let known = match series {
            Series::Bursts(_) => KNOWN_OF_BURSTS,
            _ => KNOWN * trials.max(100) as usize,
        };
        let mut all = Distribution::default();
        let mut worst: Vec<i64> = Vec::new();
        for seed in 0..MACHINES as u64 {
            let mut machine = Simulated::new(series, 1_000_000 + seed);
            for _ in 0..known / MACHINES {
                let late = machine.latency() as i64;
                all.record(Latency::from_nanos(late));
                worst.push(late);
            }
            if worst.len() > 2 * LATEST {
                worst.select_nth_unstable_by_key(LATEST, |one| Reverse(*one));
                worst.truncate(LATEST);
            }
        }
        worst.sort_unstable_by_key(|one| Reverse(*one));
        worst.truncate(LATEST);
        Self { all, worst, known }
    }

    /// The share of wake-ups later than a latency.
    fn share_beyond(&self, latency: Latency) -> f64 {
        let nanos = latency.as_nanos();
        let is_among_the_worst = self.worst.last().is_none_or(|last| nanos >= *last);
        let later = if is_among_the_worst {
            self.worst.partition_point(|one| *one > nanos) as f64
        } else {
            let beyond = |bucket: &Bucket| i64::try_from(bucket.lowest).is_ok_and(|lowest| lowest > nanos);
            self.all.buckets().filter(beyond).map(|bucket| bucket.count as f64).sum()
        };
        later / self.known as f64
    }

    /// Whether an interval holds a quantile; buckets of 1 % are the least that can be told.
    fn is_held(&self, interval: Interval, quantile: f64) -> bool {
        let truth = self.all.quantile(quantile).unwrap_or_default().as_nanos();
        let bucket = truth / 100;
        interval.low.as_nanos() <= truth + bucket && truth - bucket <= interval.high.as_nanos()
    }
}

/// What is said of one condition that was measured for so many wake-ups of a millisecond each.
pub fn single(series: Series, wakeups: u64, seeds: Range<u64>) -> Vec<Tally> {
    let truth = Truth::new(series, seeds.end - seeds.start);
    tallied(seeds, |seed| {
        let mut machine = Clocked::new(Simulated::new(series, seed));
        let mut track = track(1);
        machine.turn(0, 0, wakeups, 0.0).iter().for_each(|line| track.add(line));
        let outcome = &track.analysis.outcomes()[0];
        let how = format!("{} s alone", wakeups / 1_000);
        let mut said = Vec::new();
        let scope = Scope::of(series, Span::from_millis(wakeups));
        for (name, quantile, interval) in intervals(outcome) {
            said.push((format!("{how}: has an interval, {name}"), None, interval.is_some()));
            let held = interval.map(|interval| truth.is_held(interval, quantile));
            said.extend(held.map(|held| scope.observed(format!("{how}: interval, {name}"), held)));
        }
        let max = outcome.latency().max().unwrap_or_default();
        let bounds = |one_in: u64| truth.share_beyond(max) <= 1.0 / one_in.max(1) as f64;
        let bound = outcome.bound().map(|bound| bound.one_in);
        let compared =
            Maximum::from_pieces(&track.pieces(&[0]), 0.95, seed).and_then(|one| one.later_at_most_one_in);
        said.push((format!("{how}: has a bound of the maximum"), None, bound.is_some()));
        let held = bound.map(bounds);
        said.extend(held.map(|held| scope.observed(format!("{how}: bound of the maximum"), held)));
        let held = compared.map(bounds);
        said.extend(held.map(|held| scope.observed(format!("{how}: the same in compare"), held)));
        let independent = crate::exceeded_at_most(outcome.count()).is_some_and(bounds);
        said.push((format!("{how}: bound, were they independent"), None, independent));
        said
    })
}

fn intervals(outcome: &Outcome) -> [(&'static str, f64, Option<Interval>); 2] {
    [
        ("p50", 0.5, outcome.planned_blocks().p50_interval()),
        ("p99", 0.99, outcome.planned_blocks().p99_interval()),
    ]
}
