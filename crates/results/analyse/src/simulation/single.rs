//! Statements about one condition: the intervals of its percentiles, and the bound of its maximum.

use std::cmp::Reverse;
use std::ops::Range;

use howlate_model::{Bucket, Distribution, Latency, Span};

use super::recording::{SimulatedRun, track};
use super::series::{LatencyGenerator, Series};
use super::tally::{Scope, StatementTally, run_trials};
use crate::compare::Maximum;
use crate::{Interval, Outcome};

/// Reference wake-ups for each trial; at least those of a hundred trials.
const REFERENCE_WAKEUPS: usize = 4_000;
/// Reference machines: a slowly drifting series has a different level on each.
const MACHINES: usize = 4_000;
/// Reference wake-ups of series with bursts, which occur once in twenty thousand wake-ups.
const REFERENCE_WAKEUPS_WITH_BURSTS: usize = 20_000_000;
/// The number of worst wake-ups kept individually, as a bucket is too coarse for them.
const WORST: usize = 40_000;

/// The true distribution of a series, from a large simulation.
pub(crate) struct SeriesTruth {
    pub(crate) all: Distribution,
    /// The worst wake-ups, the worst first.
    worst: Vec<i64>,
    wakeups: usize,
}

impl SeriesTruth {
    #[allow(clippy::cast_possible_truncation, reason = "simulated latencies are small")]
    pub(crate) fn new(series: Series, trials: u64) -> Self {
        let wakeups = match series {
            Series::Bursts(_) => REFERENCE_WAKEUPS_WITH_BURSTS,
            _ => REFERENCE_WAKEUPS * trials.max(100) as usize,
        };
        let mut all = Distribution::default();
        let mut worst: Vec<i64> = Vec::new();
        for seed in 0..MACHINES as u64 {
            let mut generator = LatencyGenerator::new(series, 1_000_000 + seed);
            for _ in 0..wakeups / MACHINES {
                let latency = generator.latency() as i64;
                all.record(Latency::from_nanos(latency));
                worst.push(latency);
            }
            if worst.len() > 2 * WORST {
                worst.select_nth_unstable_by_key(WORST, |latency| Reverse(*latency));
                worst.truncate(WORST);
            }
        }
        worst.sort_unstable_by_key(|latency| Reverse(*latency));
        worst.truncate(WORST);
        Self { all, worst, wakeups }
    }

    /// The share of wake-ups later than a latency.
    fn share_beyond(&self, latency: Latency) -> f64 {
        let nanos = latency.as_nanos();
        let is_among_the_worst = self.worst.last().is_none_or(|last| nanos >= *last);
        let later = if is_among_the_worst {
            self.worst.partition_point(|latency| *latency > nanos) as f64
        } else {
            let beyond = |bucket: &Bucket| i64::try_from(bucket.lowest).is_ok_and(|lowest| lowest > nanos);
            self.all.buckets().filter(beyond).map(|bucket| bucket.count as f64).sum()
        };
        later / self.wakeups as f64
    }

    /// Whether an interval contains a quantile, within the bucket width of 1 %.
    fn is_in(&self, interval: Interval, quantile: f64) -> bool {
        let truth = self.all.quantile(quantile).unwrap_or_default().as_nanos();
        let bucket = truth / 100;
        interval.low.as_nanos() <= truth + bucket && truth - bucket <= interval.high.as_nanos()
    }
}

/// Tests the statements about one condition that was measured for `wakeups` of a millisecond each.
pub fn single(series: Series, wakeups: u64, seeds: Range<u64>) -> Vec<StatementTally> {
    let truth = SeriesTruth::new(series, seeds.end - seeds.start);
    run_trials(seeds, |seed| {
        let mut machine = SimulatedRun::new(LatencyGenerator::new(series, seed));
        let mut track = track(1);
        machine.turn(0, 0, wakeups, 0.0).iter().for_each(|line| track.add(line));
        let outcome = &track.analysis.outcomes()[0];
        let run = format!("{} s alone", wakeups / 1_000);
        let mut observations = Vec::new();
        let scope = Scope::of_run(series, Span::from_millis(wakeups));
        for (name, quantile, interval) in intervals(outcome) {
            observations.push((format!("{run}: has an interval, {name}"), None, interval.is_some()));
            let contains = interval.map(|interval| truth.is_in(interval, quantile));
            observations.extend(
                contains.map(|contains| scope.observation(format!("{run}: interval, {name}"), contains)),
            );
        }
        let max = outcome.latency().max().unwrap_or_default();
        let bounds = |one_in: u64| truth.share_beyond(max) <= 1.0 / one_in.max(1) as f64;
        let bound = outcome.bound().map(|bound| bound.one_in);
        let bound_in_compare = Maximum::from_pieces(&track.pieces(&[0]), 0.95, seed)
            .and_then(|maximum| maximum.later_at_most_one_in);
        observations.push((format!("{run}: has a bound of the maximum"), None, bound.is_some()));
        let holds = bound.map(bounds);
        observations
            .extend(holds.map(|holds| scope.observation(format!("{run}: bound of the maximum"), holds)));
        let holds = bound_in_compare.map(bounds);
        observations
            .extend(holds.map(|holds| scope.observation(format!("{run}: the same in compare"), holds)));
        let independent = crate::exceeded_at_most(outcome.count()).is_some_and(bounds);
        observations.push((format!("{run}: bound, were they independent"), None, independent));
        observations
    })
}

fn intervals(outcome: &Outcome) -> [(&'static str, f64, Option<Interval>); 2] {
    [
        ("p50", 0.5, outcome.planned_blocks().p50_interval()),
        ("p99", 0.99, outcome.planned_blocks().p99_interval()),
    ]
}
