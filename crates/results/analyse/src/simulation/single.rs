//! Statements about one condition: the intervals of its percentiles, and the bound of its maximum.

use std::cmp::Reverse;
use std::ops::Range;

use howlate_model::{Bucket, Distribution, Latency, Span};

use super::recording::{SimulatedRun, track};
use super::series::{LatencyGenerator, Series};
use super::tally::{Observation, Scope, StatementTally, run_trials};
use crate::compare::{Maximum, Track};
use crate::{Interval, Outcome, curve, larger_latencies, slowest_covered_beyond_p99};

/// Reference wake-ups for each trial: of a thousand trials, so many that what one in a million exceeds is known on a machine that
/// wanders over a second.
const REFERENCE_WAKEUPS: usize = 40_000;
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
            Series::Bursts(_) | Series::Sawtooth(_) => REFERENCE_WAKEUPS_WITH_BURSTS,
            _ => REFERENCE_WAKEUPS * trials as usize,
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
    let rates = ClusterRates::new(series, seeds.end - seeds.start);
    let (name, scopes) = (format!("{} s alone", wakeups / 1_000), RunScopes::new(series, wakeups));
    run_trials(seeds, |seed| {
        let mut machine = SimulatedRun::new(LatencyGenerator::new(series, seed));
        let mut track = track(1);
        machine.turn(0, 0, wakeups, 0.0).iter().for_each(|line| track.add(line));
        let mut observations = statements(&track, scopes, &truth, seed);
        observations.extend(later_per_hour(&track, scopes.run, &rates));
        observations
            .into_iter()
            .map(|(text, required, holds)| (format!("{name}: {text}"), required, holds))
            .collect()
    })
}

/// Tests the same statements about several recordings that were merged, each of another time.
pub fn merged(series: Series, recordings: u64, wakeups: u64, seeds: Range<u64>) -> Vec<StatementTally> {
    let truth = SeriesTruth::new(series, seeds.end - seeds.start);
    let name = format!("{recordings} of {} s merged", wakeups / 1_000);
    let scopes = RunScopes::new(series, recordings * wakeups);
    run_trials(seeds, |seed| {
        let mut machine = SimulatedRun::new(LatencyGenerator::new(series, seed));
        let mut track = track(1);
        for (round, number) in (0..).zip(0..recordings) {
            machine.latencies = LatencyGenerator::new(series, 5_000_000 + recordings * seed + number);
            machine.turn(0, round, wakeups, 0.0).iter().for_each(|line| track.add(line));
        }
        let observations = statements(&track, scopes, &truth, seed).into_iter();
        observations.map(|(text, required, holds)| (format!("{name}: {text}"), required, holds)).collect()
    })
}

/// What the statements about a run cover.
#[derive(Clone, Copy)]
struct RunScopes {
    run: Scope,
    /// For percentiles beyond p99.
    tail: Scope,
}

impl RunScopes {
    fn new(series: Series, wakeups: u64) -> Self {
        let run = Span::from_millis(wakeups);
        Self { run: Scope::of_run(series, run), tail: Scope::within(series, slowest_covered_beyond_p99(run)) }
    }
}

/// The intervals of the percentiles, and the bound of the maximum.
fn statements(track: &Track, scopes: RunScopes, truth: &SeriesTruth, seed: u64) -> Vec<Observation> {
    let outcome = &track.analysis.outcomes()[0];
    let mut observations = Vec::new();
    for (name, quantile, interval) in intervals(outcome) {
        observations.push((format!("has an interval, {name}"), None, interval.is_some()));
        let contains = interval.map(|interval| truth.is_in(interval, quantile));
        observations
            .extend(contains.map(|contains| scopes.run.observation(format!("interval, {name}"), contains)));
    }
    observations.extend(bands(outcome, scopes, truth));
    let max = outcome.latency().max().unwrap_or_default();
    let bounds = |one_in: u64| truth.share_beyond(max) <= 1.0 / one_in.max(1) as f64;
    let bound = outcome.bound().map(|bound| bound.one_in);
    let bound_in_compare = Maximum::from_pieces(&track.pieces(&[0]), 0.95, seed)
        .and_then(|maximum| maximum.later_at_most_one_in);
    observations.push(("has a bound of the maximum".to_owned(), None, bound.is_some()));
    let holds = bound.map(bounds);
    observations.extend(holds.map(|holds| scopes.run.observation("bound of the maximum".to_owned(), holds)));
    let holds = bound_in_compare.map(bounds);
    observations.extend(holds.map(|holds| scopes.run.observation("the same in compare".to_owned(), holds)));
    let independent = crate::exceeded_at_most(outcome.count()).is_some_and(bounds);
    observations.push(("bound, were they independent".to_owned(), None, independent));
    observations
}

/// The bands of the percentile curve.
fn bands(outcome: &Outcome, scopes: RunScopes, truth: &SeriesTruth) -> Vec<Observation> {
    let points = curve(outcome, true);
    let mut observations = Vec::new();
    for (name, tail, scope) in
        [("p90", 0.1, scopes.run), ("p99", 0.01, scopes.run), ("p99.9", 0.001, scopes.tail)]
    {
        let point = points.iter().find(|point| (point.tail / tail - 1.0).abs() < 1e-6);
        let interval = point.and_then(|point| point.interval);
        observations.push((format!("has a band, {name}"), None, interval.is_some()));
        let contains = interval.map(|interval| truth.is_in(interval, 1.0 - tail));
        observations.extend(contains.map(|contains| scope.observation(format!("band, {name}"), contains)));
    }
    observations
}

/// How often a larger maximum comes in an hour, at most.
fn later_per_hour(track: &Track, scope: Scope, rates: &ClusterRates) -> Option<Observation> {
    let outcome = &track.analysis.outcomes()[0];
    let stated = larger_latencies(outcome)?.to_come?.per_hour_at_most;
    let truth = rates.per_hour_beyond(outcome.latency().max()?);
    Some(scope.observation("larger ones per hour".to_owned(), truth <= stated))
}

/// Largest latencies of the seconds of long runs.
struct ClusterRates {
    runs: Vec<Vec<i64>>,
}

/// Long runs, at most, and their seconds: so many that something that comes once in 10 min comes in them 60 times.
const LONG_RUNS: u64 = 400;
const SECONDS: usize = 100;

impl ClusterRates {
    /// One long run per trial, [`LONG_RUNS`] at most: few trials need no better rates.
    #[allow(clippy::cast_possible_truncation, reason = "simulated latencies are small")]
    fn new(series: Series, trials: u64) -> Self {
        let run = |seed: u64| {
            let mut machine = LatencyGenerator::new(series, 6_000_000 + seed);
            let mut second = || (0..1_000).map(|_| machine.latency() as i64).max().unwrap_or_default();
            (0..SECONDS).map(|_| second()).collect()
        };
        Self { runs: (0..trials.min(LONG_RUNS)).map(run).collect() }
    }

    /// Clusters of seconds with a wake-up later than `latency`.
    fn per_hour_beyond(&self, latency: Latency) -> f64 {
        let is_beyond = |max: &i64| *max > latency.as_nanos();
        let begins = |run: &Vec<i64>| {
            let after_a_pause = run.windows(2).filter(|pair| !is_beyond(&pair[0]) && is_beyond(&pair[1]));
            // The first second may go on with a cluster that began before.
            after_a_pause.count()
        };
        let clusters: usize = self.runs.iter().map(begins).sum();
        clusters as f64 * 3_600.0 / (self.runs.len() * (SECONDS - 1)) as f64
    }
}

fn intervals(outcome: &Outcome) -> [(&'static str, f64, Option<Interval>); 2] {
    [
        ("p50", 0.5, outcome.planned_blocks().p50_interval()),
        ("p99", 0.99, outcome.planned_blocks().p99_interval()),
    ]
}
