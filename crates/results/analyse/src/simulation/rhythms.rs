//! Recurrences of late wake-ups: simulated rhythms, and runs without one.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "simulated times are those of a run"
)]

use std::fmt;
use std::ops::Range;

use howlate_model::{Block, Latency, Line, MonotonicTime, Span, Wakeup};

use super::recording::track;
use super::tally::{Observation, StatementTally, run_trials};
use crate::periodicity::PeriodicTimes;

/// The period of the simulated loop, in nanoseconds.
const PERIOD: i64 = 1_000_000;
const SECOND: i64 = 1_000_000_000;
/// The usual latency, in nanoseconds.
const USUAL_LATENCY: f64 = 20_000.0;
/// The range of the added latency of late wake-ups, in nanoseconds.
const ADDED_LATENCY: (f64, f64) = (100_000.0, 900_000.0);
/// Late wake-ups of a burst, and its duration in nanoseconds.
const BURST_WAKEUPS: u64 = 30;
const BURST_DURATION: f64 = 2e9;
/// The largest relative error of a reported period.
const TOLERANCE: f64 = 0.01;

/// A simulated run with late wake-ups.
#[derive(Clone, Copy, Debug)]
pub struct RhythmScenario {
    /// The period of recurring late wake-ups; `None` without a rhythm.
    pub period: Option<Span>,
    /// Other late wake-ups per second.
    pub unrelated: f64,
    /// Whether the other late wake-ups come in bursts.
    pub in_bursts: bool,
    /// Duration of the run in seconds.
    pub seconds: i64,
}

impl RhythmScenario {
    /// Periods from 47 ms to 47 s, with as many other late wake-ups as on quiet and on busy machines; and runs without a rhythm.
    pub fn all() -> Vec<Self> {
        let scenario = |millis: Option<u64>, unrelated, in_bursts, seconds| Self {
            period: millis.map(Span::from_millis),
            unrelated,
            in_bursts,
            seconds,
        };
        let with_rhythm = |millis: u64, seconds| {
            [(0.3, false), (3.0, false), (3.0, true)]
                .map(|(unrelated, in_bursts)| scenario(Some(millis), unrelated, in_bursts, seconds))
        };
        let without_rhythm = [(0.5, false), (3.0, false), (1.0, true), (3.0, true)]
            .map(|(unrelated, in_bursts)| scenario(None, unrelated, in_bursts, 60));
        let rhythms =
            [(47, 60), (143, 60), (250, 60), (1_000, 60), (2_500, 60), (13_700, 900), (47_030, 900)];
        rhythms
            .into_iter()
            .flat_map(|(millis, seconds)| with_rhythm(millis, seconds))
            .chain(without_rhythm)
            .collect()
    }
}

impl fmt::Display for RhythmScenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bursts = if self.in_bursts { ", in bursts" } else { "" };
        let (unrelated, seconds) = (self.unrelated, self.seconds);
        match self.period {
            Some(period) => {
                write!(
                    f,
                    "every {} ms, {unrelated}/s others{bursts}, {seconds} s",
                    period.as_nanos() / 1_000_000
                )
            }
            None => write!(f, "no rhythm, {unrelated}/s{bursts}, {seconds} s"),
        }
    }
}

/// Tests the first recurrence found in such runs. Runs without a finding count for a separate statement.
pub fn rhythms(scenario: RhythmScenario, seeds: Range<u64>) -> Vec<StatementTally> {
    run_trials(seeds, |seed| {
        let mut track = track(1);
        run(scenario, seed).into_iter().for_each(|line| track.add(&line));
        let recurrences = track.analysis.recurrences();
        check_period(scenario, recurrences.first().map(|recurrence| recurrence.rhythm))
    })
}

fn check_period(scenario: RhythmScenario, found: Option<PeriodicTimes>) -> Vec<Observation> {
    let Some(period) = scenario.period else {
        return vec![(format!("{scenario}: says nothing"), Some(0.999), found.is_none())];
    };
    let mut observations = vec![(format!("{scenario}: says something"), None, found.is_some())];
    if let Some(found) = found {
        let times = period.as_nanos() as f64 / found.period.as_nanos() as f64;
        let stated = if found.may_be_multiple { times.round().max(1.0) } else { 1.0 };
        let is_near = (times / stated - 1.0).abs() < TOLERANCE / stated;
        observations.push((format!("{scenario}: the period"), Some(0.95), is_near));
        observations.push((format!("{scenario}: without \"or a multiple\""), None, !found.may_be_multiple));
    }
    observations
}

/// Simulates a run, with a block for each second.
fn run(scenario: RhythmScenario, seed: u64) -> Vec<Line> {
    let mut random = fastrand::Rng::with_seed(seed);
    let wakeups = (scenario.seconds * SECOND / PERIOD) as usize;
    let mut latencies: Vec<f64> = (0..wakeups).map(|_| USUAL_LATENCY * (0.8 + 0.4 * random.f64())).collect();
    for at in disturbance_times(scenario, &mut random) {
        if let Some(latency) = latencies.get_mut((at / PERIOD as f64) as usize) {
            *latency += ADDED_LATENCY.0 + random.f64() * (ADDED_LATENCY.1 - ADDED_LATENCY.0);
        }
    }
    let per_second = (SECOND / PERIOD) as usize;
    (0..scenario.seconds)
        .zip(latencies.chunks(per_second))
        .map(|(second, latencies)| block(second, latencies))
        .collect()
}

fn block(second: i64, latencies: &[f64]) -> Line {
    let at = MonotonicTime::from_nanos;
    let mut block = Block { from: at(second * SECOND), until: at((second + 1) * SECOND), ..Block::default() };
    for (number, latency) in (0..).zip(latencies) {
        let expected = at(second * SECOND + number * PERIOD);
        let ran = at(expected.as_nanos() + Latency::from_nanos(*latency as i64).as_nanos());
        block.record(Wakeup { expected, ran }, None);
    }
    Line::Block(Box::new(block))
}

/// The times at which a wake-up is late, in nanoseconds.
fn disturbance_times(scenario: RhythmScenario, random: &mut fastrand::Rng) -> Vec<f64> {
    let duration = (scenario.seconds * SECOND) as f64;
    let mut times = Vec::new();
    if let Some(period) = scenario.period.map(|period| period.as_nanos() as f64) {
        let mut at = random.f64() * period;
        while at < duration {
            times.push(at);
            at += period;
        }
    }
    let unrelated = (scenario.unrelated * scenario.seconds as f64) as u64;
    match scenario.in_bursts {
        false => times.extend((0..unrelated).map(|_| random.f64() * duration)),
        true => {
            for _ in 0..unrelated.div_ceil(BURST_WAKEUPS) {
                let start = random.f64() * duration;
                times.extend((0..BURST_WAKEUPS).map(|_| start + random.f64() * BURST_DURATION));
            }
        }
    }
    times
}
