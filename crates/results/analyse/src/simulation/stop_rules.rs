//! Runs that stop once a percentile or a rate is known.

#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "simulated times are short")]

use std::ops::Range;

use howlate_model::{Block, Distribution, Latency, Line, Margin, Span, StopRule};

use super::recording::{SimulatedRun, track};
use super::series::{LatencyGenerator, Series};
use super::single::SeriesTruth;
use super::tally::{Observation, Scope, StatementTally, run_trials};
use crate::sequential::decisive;
use crate::sequential::exceedances::{Exceedances, spell};
use crate::sequential::looks::Looks;
use crate::sequential::rate::{EventCount, TO_HOLD, TO_REFUTE};
use crate::sequential::slowest_change;
use crate::{Analysis, Interval};

/// Tests the interval of a percentile when it is first as narrow as requested, after at most `seconds`. If many runs are cut off there,
/// the remaining ones are a selection of those that looked quiet.
pub fn precision(
    series: Series,
    quantile: f64,
    within: f64,
    seconds: u64,
    seeds: Range<u64>,
) -> Vec<StatementTally> {
    let truth = SeriesTruth::new(series, seeds.end - seeds.start).all;
    run_trials(seeds, |seed| {
        let mut machine = SimulatedRun::new(LatencyGenerator::new(series, seed));
        let (mut track, mut looks) = (track(1), Looks::until(quantile, Margin::Share(within)));
        let mut observations: Vec<Observation> = Vec::new();
        let name = format!("p{} within {} %", quantile * 100.0, within * 100.0);
        for block in machine.blocks(0, 0, seconds * 1_000, 0.0) {
            track.add(&Line::Block(Box::new(block)));
            let outcome = &track.analysis.outcomes()[0];
            looks.look(outcome.count(), || outcome.planned_blocks());
            if looks.reached() {
                break;
            }
        }
        let reached = looks.interval.filter(|_| looks.reached());
        let scope = Scope::of_run(series, Span::from_millis(track.analysis.outcomes()[0].count()));
        observations.extend(reached.map(|interval| {
            let contains = contains(interval, truth.quantile(quantile).unwrap_or_default());
            scope.observation(format!("{name}: interval when reached"), contains)
        }));
        let reached = looks.reached();
        observations.push((format!("{name}: reached"), None, reached));
        observations
    })
}

/// Tests decisions about a rate of late wake-ups that is exactly the limit. Late is beyond `quantile`; the run takes `times` the time in
/// which the limit allows one event, with a look after each block.
pub fn rate(series: Series, quantile: f64, times: f64, seeds: Range<u64>) -> Vec<StatementTally> {
    let truth = TrueRate::new(series, quantile, seeds.end - seeds.start);
    run_trials(seeds, |seed| {
        let mut machine = SimulatedRun::new(LatencyGenerator::new(series, seed));
        let mut late = Exceedances::later_than(truth.limit, truth.spell);
        let (mut contains_truth, mut holds, mut refuted) = (true, false, false);
        for block in machine.blocks(0, 0, (times * 1_000.0 / truth.per_second) as u64, 0.0) {
            late.add(&block);
            let count = EventCount { events: late.seen, time: late.covered.as_secs_f64() * truth.per_second };
            let interval = count.interval(TO_HOLD, decisive());
            contains_truth &= interval.is_none_or(|(low, high)| low <= 1.0 && 1.0 <= high);
            holds |= count.evidence_below_one(TO_HOLD) >= decisive();
            refuted |= count.evidence_above_one(TO_REFUTE) >= decisive();
        }
        let name = format!("once in {:.0} s, {times} times as long", 1.0 / truth.per_second);
        let interval = Span::from_nanos((1e9 / truth.per_second) as u64);
        let scope = Scope::within(series, slowest_change(interval));
        vec![
            scope.observation(format!("{name}: interval, whenever looked at"), contains_truth),
            scope.observation(format!("{name}: no wrong \"holds\""), !holds),
            scope.observation(format!("{name}: no wrong \"refuted\""), !refuted),
        ]
    })
}

/// A run with the stop rule `figure`, and the blocks of `seconds` of a simulated machine for it.
pub fn blocks_of_a_run(figure: StopRule, seconds: u64) -> (Analysis, Vec<Line>) {
    let mut header = track(1).analysis.header;
    header.until = Some(figure);
    let mut machine = SimulatedRun::new(LatencyGenerator::new(Series::Autoregressive, 1));
    (Analysis::new(header), machine.turn(0, 0, seconds * 1_000, 0.0))
}

/// Whether an interval contains the truth, within the bucket width of 1 %.
fn contains(interval: Interval, truth: Latency) -> bool {
    let (truth, bucket) = (truth.as_nanos(), truth.as_nanos() / 100);
    interval.low.as_nanos() <= truth + bucket && truth - bucket <= interval.high.as_nanos()
}

/// Long runs of many machines of a series, from which its true rate is known.
struct ReferenceRuns {
    latency: Distribution,
    blocks: Vec<Vec<Block>>,
}

/// Bounds of the number of machines, which is that of trials. A thousand machines see an event that occurs once in 400 s five hundred
/// times; sixty see it thirty times, and the rate is off by a sixth.
const LEAST_MACHINES: u64 = 12;
const MOST_MACHINES: u64 = 1_000;
const WAKEUPS: u64 = 200_000;

impl ReferenceRuns {
    fn new(series: Series, trials: u64) -> Self {
        let mut latency = Distribution::default();
        let mut run = |seed: u64| {
            let mut machine = SimulatedRun::new(LatencyGenerator::new(series, 2_000_000 + seed));
            let without_latency = |block: Block| {
                latency.merge(&block.latency);
                Block { latency: Distribution::default(), ..block }
            };
            machine.blocks(0, 0, WAKEUPS, 0.0).map(without_latency).collect::<Vec<_>>()
        };
        let blocks = (0..trials.clamp(LEAST_MACHINES, MOST_MACHINES)).map(&mut run).collect();
        Self { latency, blocks }
    }

    /// Spells of wake-ups later than `limit`, per second.
    fn per_second(&self, limit: Span, spell: Span) -> f64 {
        let count = |blocks: &Vec<Block>| {
            let mut late = Exceedances::later_than(limit, spell);
            blocks.iter().for_each(|block| late.add(block));
            (late.seen, late.covered.as_secs_f64())
        };
        let (events, seconds) =
            self.blocks.iter().map(count).fold((0, 0.0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
        events as f64 / seconds
    }
}

/// The true rate of events of a series.
struct TrueRate {
    limit: Span,
    spell: Span,
    per_second: f64,
}

impl TrueRate {
    /// The rate of wake-ups beyond a quantile, in spells of the length for a limit of that rate.
    fn new(series: Series, quantile: f64, trials: u64) -> Self {
        let runs = ReferenceRuns::new(series, trials);
        let limit = runs.latency.quantile(quantile).unwrap_or_default();
        let limit = Span::from_nanos(limit.as_nanos().max(0).unsigned_abs());
        let shortest = runs.per_second(limit, spell(Span::ZERO));
        let spell = spell(Span::from_nanos((1e9 / shortest) as u64));
        Self { limit, spell, per_second: runs.per_second(limit, spell) }
    }
}
