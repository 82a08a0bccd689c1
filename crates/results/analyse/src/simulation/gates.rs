//! How often other runs of the same machine exceed a limit, and what one of them says of that.

#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in a list")]

use std::ops::Range;

use howlate_model::{Limit, LimitStatistic};

use super::recorded::{Clocked, track};
use super::series::{Series, Simulated};
use super::tally::{Tally, tallied};
use crate::compare::Track;
use crate::gate::{LEAST_SHARE, gate_trust};
use crate::limits::value;

const P99: LimitStatistic = LimitStatistic::Percentile(99.0);
/// Limits that are exceeded by about so many runs.
const EXCEEDED: [f64; 4] = [0.5, 0.25, 0.1, 0.02];

/// What runs of so many wake-ups say of limits of their p99 that are exceeded by chance.
pub fn gates(series: Series, wakeups: u64, seeds: Range<u64>) -> Vec<Tally> {
    let found = |seed: u64| {
        let track = measured(series, wakeups, 3_000_000 + seed);
        let outcome = &track.analysis.outcomes()[0];
        value(outcome, &outcome.planned(), P99)
    };
    let mut others: Vec<u64> = (0..(seeds.end - seeds.start).max(400)).filter_map(found).collect();
    others.sort_unstable();
    let limits = EXCEEDED.map(|share| {
        let above = others[((1.0 - share) * (others.len() - 1) as f64) as usize];
        let exceed = others.iter().filter(|one| **one > above).count();
        (share, Limit { statistic: P99, above }, exceed as f64 / others.len() as f64)
    });
    tallied(seeds, |seed| {
        let track = measured(series, wakeups, seed);
        let outcome = &track.analysis.outcomes()[0];
        let mut said = Vec::new();
        for (share, limit, truth) in limits {
            let how = format!("{} s, exceeded by {:.0} %", wakeups / 1_000, share * 100.0);
            let Some(trust) = gate_trust(outcome, limit) else { continue };
            let Some((low, high)) = trust.exceeds_between else { continue };
            // Less than the least that is told is told as that.
            let is_held = low <= truth.max(LEAST_SHARE) && truth <= high;
            said.push((format!("{how}: the range of the share"), Some(0.95), is_held));
            let is_more = trust.exceeds.is_some_and(|exceeds| exceeds > truth);
            said.push((format!("{how}: a larger share is told"), None, is_more));
        }
        said
    })
}

fn measured(series: Series, wakeups: u64, seed: u64) -> Track {
    let mut track = track(1);
    let mut machine = Clocked::new(Simulated::new(series, seed));
    machine.turn(0, 0, wakeups, 0.0).iter().for_each(|line| track.add(line));
    track
}
