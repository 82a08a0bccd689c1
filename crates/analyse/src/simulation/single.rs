//! What is said of one condition: the intervals of its percentiles, and what its maximum is worth.

use std::cmp::Reverse;
use std::ops::Range;

use howlate_model::{Distribution, Latency};

use super::recorded::{Clocked, track};
use super::series::{Series, Simulated};
use super::tally::{Tally, tallied};
use crate::compare::Maximum;
use crate::{Interval, Outcome};

/// Wake-ups that a series is known by, for each trial; at least those of a hundred.
const KNOWN: u64 = 4_000;
/// The worst of them, each kept by itself: more than any bound is looked up among.
const LATEST: usize = 40_000;

/// What is known of a series: the truth that statements are held against.
struct Truth {
    all: Distribution,
    /// The worst wake-ups, the worst first.
    worst: Vec<i64>,
    /// Of so many.
    known: usize,
}

impl Truth {
    #[allow(clippy::cast_possible_truncation, reason = "simulated latencies are small")]
    fn new(series: Series, trials: u64) -> Self {
        let known = KNOWN as usize * trials.max(100) as usize;
        // Many machines rather than one for long: what wanders slowly is seen from all sides.
        let machine = |seed: u64| {
            let mut machine = Simulated::new(series, 1_000_000 + seed);
            (0..known / 400).map(move |_| machine.latency() as i64).collect::<Vec<_>>()
        };
        let mut latencies: Vec<i64> = (0..400).flat_map(machine).collect();
        let mut all = Distribution::default();
        latencies.iter().for_each(|one| all.record(Latency::from_nanos(*one)));
        latencies.sort_unstable_by_key(|one| Reverse(*one));
        latencies.truncate(LATEST);
        Self { all, worst: latencies, known }
    }

    /// The share of wake-ups later than a latency.
    fn share_beyond(&self, latency: Latency) -> f64 {
        self.worst.partition_point(|one| *one > latency.as_nanos()) as f64 / self.known as f64
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
        for (name, quantile, interval) in intervals(outcome) {
            said.push((format!("{how}: has an interval, {name}"), None, interval.is_some()));
            let held = interval.is_none_or(|interval| truth.is_held(interval, quantile));
            said.push((format!("{how}: interval, {name}"), Some(0.95), held));
        }
        let max = outcome.latency().max().unwrap_or_default();
        let bounds = |one_in: u64| truth.share_beyond(max) <= 1.0 / one_in.max(1) as f64;
        let bound = outcome.bound().map(|bound| bound.one_in);
        let compared =
            Maximum::from_pieces(&track.pieces(&[0]), 0.95, seed).and_then(|one| one.later_at_most_one_in);
        said.push((format!("{how}: has a bound of the maximum"), None, bound.is_some()));
        said.push((format!("{how}: bound of the maximum"), Some(0.95), bound.is_none_or(bounds)));
        said.push((format!("{how}: the same in compare"), Some(0.95), compared.is_none_or(bounds)));
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
