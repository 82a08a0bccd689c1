//! Runs that are measured until something is known of them.

#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "simulated times are short")]

use std::ops::Range;

use howlate_model::{Block, Distribution, Latency, Line, Margin, Span, StopRule};

use super::recorded::{Clocked, track};
use super::series::{Series, Simulated};
use super::single::Truth;
use super::tally::{Observation, Scope, Tally, tallied};
use crate::sequential::decisive;
use crate::sequential::exceedances::{Exceedances, spell};
use crate::sequential::looks::Looks;
use crate::sequential::rate::{EventCount, TO_HOLD, TO_REFUTE};
use crate::{Analysis, Interval};

/// What is said of a percentile when its interval was first as narrow as asked for, after at most so many seconds of
/// wake-ups of a millisecond. Fewer than all are known by then: who stops those that are not has chosen the ones that looked quiet.
pub fn precision(series: Series, quantile: f64, within: f64, seconds: u64, seeds: Range<u64>) -> Vec<Tally> {
    let truth = Truth::new(series, seeds.end - seeds.start).all;
    tallied(seeds, |seed| {
        let mut machine = Clocked::new(Simulated::new(series, seed));
        let (mut track, mut looks) = (track(1), Looks::until(quantile, Margin::Share(within)));
        let mut said: Vec<Observation> = Vec::new();
        let how = format!("p{} within {} %", quantile * 100.0, within * 100.0);
        for block in machine.blocks(0, 0, seconds * 1_000, 0.0) {
            track.add(&Line::Block(Box::new(block)));
            let outcome = &track.analysis.outcomes()[0];
            looks.look(outcome.count(), || outcome.planned_blocks());
            if looks.reached() {
                break;
            }
        }
        let reached = looks.interval.filter(|_| looks.reached());
        let scope = Scope::of(series, Span::from_millis(track.analysis.outcomes()[0].count()));
        said.extend(reached.map(|interval| {
            let holds = holds(interval, truth.quantile(quantile).unwrap_or_default());
            scope.observed(format!("{how}: interval when reached"), holds)
        }));
        let reached = looks.reached();
        said.push((format!("{how}: reached"), None, reached));
        said
    })
}

/// What is said of a rate of late wake-ups that is exactly the limit, where late means beyond `quantile`, looked at with each block of
/// so many times the time in which the limit allows one event.
pub fn rate(series: Series, quantile: f64, times: f64, seeds: Range<u64>) -> Vec<Tally> {
    let truth = TrueRate::new(series, quantile, seeds.end - seeds.start);
    tallied(seeds, |seed| {
        let mut machine = Clocked::new(Simulated::new(series, seed));
        let mut late = Exceedances::later_than(truth.limit, truth.spell);
        let (mut is_held, mut holds, mut refuted) = (true, false, false);
        for block in machine.blocks(0, 0, (times * 1_000.0 / truth.per_second) as u64, 0.0) {
            late.add(&block);
            let counted =
                EventCount { events: late.seen, time: late.covered.as_secs_f64() * truth.per_second };
            let interval = counted.interval(TO_HOLD, decisive());
            is_held &= interval.is_none_or(|(low, high)| low <= 1.0 && 1.0 <= high);
            holds |= counted.evidence_below_one(TO_HOLD) >= decisive();
            refuted |= counted.evidence_above_one(TO_REFUTE) >= decisive();
        }
        let how = format!("once in {:.0} s, {times} times as long", 1.0 / truth.per_second);
        // Within a tenth of the time in which one is allowed.
        let scope = Scope::within(series, Span::from_nanos((1e8 / truth.per_second) as u64));
        vec![
            scope.observed(format!("{how}: interval, whenever looked at"), is_held),
            scope.observed(format!("{how}: no wrong \"holds\""), !holds),
            scope.observed(format!("{how}: no wrong \"refuted\""), !refuted),
        ]
    })
}

/// So many seconds of a simulated machine in a run that goes on until `figure` is known, one block after the other; each costs a look.
pub fn blocks_of_a_run(figure: StopRule, seconds: u64) -> (Analysis, Vec<Line>) {
    let mut header = track(1).analysis.header;
    header.until = Some(figure);
    let mut machine = Clocked::new(Simulated::new(Series::Autoregressive, 1));
    (Analysis::new(header), machine.turn(0, 0, seconds * 1_000, 0.0))
}

/// Whether an interval holds the truth; buckets of 1 % are the least that can be told.
fn holds(interval: Interval, truth: Latency) -> bool {
    let (truth, bucket) = (truth.as_nanos(), truth.as_nanos() / 100);
    interval.low.as_nanos() <= truth + bucket && truth - bucket <= interval.high.as_nanos()
}

/// What is known of a series: the truth that statements are held against, from many machines, each watched for long.
struct Known {
    latency: Distribution,
    blocks: Vec<Vec<Block>>,
}

/// As many machines as there are trials, within these. A thousand see what comes once in 400 s five hundred times: sixty see
/// it thirty times, and the truth that statements are held against is off by a sixth.
const LEAST_MACHINES: u64 = 12;
const MOST_MACHINES: u64 = 1_000;
const WAKEUPS: u64 = 200_000;

impl Known {
    fn new(series: Series, trials: u64) -> Self {
        let mut latency = Distribution::default();
        let mut one = |seed: u64| {
            let mut machine = Clocked::new(Simulated::new(series, 2_000_000 + seed));
            let merged = |block: Block| {
                latency.merge(&block.latency);
                Block { latency: Distribution::default(), ..block }
            };
            machine.blocks(0, 0, WAKEUPS, 0.0).map(merged).collect::<Vec<_>>()
        };
        let blocks = (0..trials.clamp(LEAST_MACHINES, MOST_MACHINES)).map(&mut one).collect();
        Self { latency, blocks }
    }

    /// Spells of wake-ups later than `limit` in a second.
    fn per_second(&self, limit: Span, spell: Span) -> f64 {
        let of = |blocks: &Vec<Block>| {
            let mut late = Exceedances::later_than(limit, spell);
            blocks.iter().for_each(|block| late.add(block));
            (late.seen, late.covered.as_secs_f64())
        };
        let all = self.blocks.iter().map(of).fold((0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        all.0 as f64 / all.1
    }
}

/// How often a series brings events.
struct TrueRate {
    limit: Span,
    spell: Span,
    per_second: f64,
}

impl TrueRate {
    /// Of wake-ups beyond a quantile, in spells that are as long as they would be for a limit of that rate.
    fn new(series: Series, quantile: f64, trials: u64) -> Self {
        let known = Known::new(series, trials);
        let limit = known.latency.quantile(quantile).unwrap_or_default();
        let limit = Span::from_nanos(limit.as_nanos().max(0).unsigned_abs());
        let shortest = known.per_second(limit, spell(Span::ZERO));
        let spell = spell(Span::from_nanos((1e9 / shortest) as u64));
        Self { limit, spell, per_second: known.per_second(limit, spell) }
    }
}
