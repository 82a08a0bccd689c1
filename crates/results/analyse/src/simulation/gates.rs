//! Limits that are exceeded by chance: how often other runs exceed them, and what one run states about that.

#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]

use std::ops::Range;

use howlate_model::{Limit, LimitScope, LimitStatistic, Span};

use super::recording::{SimulatedRun, track};
use super::series::{LatencyGenerator, Series};
use super::tally::{Scope, StatementTally, run_trials};
use crate::compare::Track;
use crate::gate::{LEAST_SHARE, gate_trust};
use crate::limits::value;

const P99: LimitStatistic = LimitStatistic::Percentile(99.0);
/// Shares of runs that exceed the limits.
const EXCEEDING_SHARES: [f64; 4] = [0.5, 0.25, 0.1, 0.02];

/// Tests the statements of runs of `wakeups` about limits of the p99 that are exceeded by chance.
pub fn gates(series: Series, wakeups: u64, seeds: Range<u64>) -> Vec<StatementTally> {
    let p99 = |seed: u64| {
        let track = measure(series, wakeups, 3_000_000 + seed);
        let outcome = &track.analysis.outcomes()[0];
        value(outcome, &outcome.planned(), P99)
    };
    let mut reference: Vec<u64> = (0..(seeds.end - seeds.start).max(400)).filter_map(p99).collect();
    reference.sort_unstable();
    let limits = EXCEEDING_SHARES.map(|share| {
        let above = reference[((1.0 - share) * (reference.len() - 1) as f64) as usize];
        let exceed = reference.iter().filter(|p99| **p99 > above).count();
        (
            share,
            Limit { scope: LimitScope::Threads, statistic: P99, above },
            exceed as f64 / reference.len() as f64,
        )
    });
    let scope = Scope::of_run(series, Span::from_millis(wakeups));
    run_trials(seeds, |seed| {
        let track = measure(series, wakeups, seed);
        let outcome = &track.analysis.outcomes()[0];
        let mut observations = Vec::new();
        for (share, limit, truth) in limits {
            let run = format!("{} s, exceeded by {:.0} %", wakeups / 1_000, share * 100.0);
            let Some(trust) = gate_trust(outcome, limit) else { continue };
            let Some((low, high)) = trust.exceeds_between else { continue };
            // Smaller shares are stated as `LEAST_SHARE`.
            let is_in_range = low <= truth.max(LEAST_SHARE) && truth <= high;
            observations.push(scope.observation(format!("{run}: the range of the share"), is_in_range));
            let is_larger = trust.exceeds.is_some_and(|exceeds| exceeds > truth);
            observations.push((format!("{run}: a larger share is told"), None, is_larger));
        }
        observations
    })
}

fn measure(series: Series, wakeups: u64, seed: u64) -> Track {
    let mut track = track(1);
    let mut machine = SimulatedRun::new(LatencyGenerator::new(series, seed));
    machine.turn(0, 0, wakeups, 0.0).iter().for_each(|line| track.add(line));
    track
}
