//! `sleep --steps` where one length does begin a step: its size, its place, and what a control leaves of it.

use std::ops::Range;

use howlate_model::{Sleeper, Span, Wait, Work};

use super::recording::{SimulatedRun, track_of};
use super::series::{LatencyGenerator, Series};
use super::tally::{Observation, StatementTally, run_trials};
use crate::Interval;
use crate::compare::Track;
use crate::steps::{LengthStep, Remainder, StepControl, staircases};

/// Lengths, rounds, and sleeps of a turn: those that `--steps` has by itself.
const LENGTHS: u32 = 34;
const ROUNDS: u32 = 8;
const SLEEPS: u64 = 6;
/// The step, nanoseconds; the control leaves half of it and a bucket.
const STEP: f64 = 3_000.0;
const LEFT: f64 = STEP / 2.0 + 300.0;

/// Tests what is stated about a step of `STEP` at a length that differs from seed to seed.
pub fn steps(series: Series, seeds: Range<u64>) -> Vec<StatementTally> {
    run_trials(seeds, |seed| {
        let first_after = 4 + u32::try_from(seed % 27).unwrap_or_default();
        let track = measure(series, seed, first_after);
        let found: Vec<LengthStep> =
            staircases(&track.analysis).into_iter().flat_map(|staircase| staircase.steps).collect();
        let mut observations: Vec<Observation> =
            vec![("--steps, a step of 15 %: one is found".to_owned(), None, found.len() == 1)];
        let between = [first_after - 1, first_after].map(length);
        observations.extend(found.iter().flat_map(|step| check_step(step, between)));
        observations
    })
}

fn check_step(step: &LengthStep, [before, after]: [Span; 2]) -> Vec<Observation> {
    let statement = |what: &str, is_true: bool| (format!("--steps, {what}"), Some(0.95), is_true);
    let contains = |interval: Interval, truth: f64| {
        // Turns are counted in buckets of 1 %.
        let bucket = step.to.as_nanos() as f64 / 100.0;
        interval.low.as_nanos() as f64 - bucket <= truth && truth <= interval.high.as_nanos() as f64 + bucket
    };
    let is_between = step.between[0] <= before && after <= step.between[1];
    let mut observations = vec![
        statement("its place: between", is_between),
        statement("its size: interval", contains(step.interval, STEP)),
    ];
    for control in &step.controls {
        let is_right = control.verdict != Remainder::Gone;
        observations.push(statement("more than half is left: not called gone", is_right));
        observations.push(statement("what is left: interval", contains(control.interval, LEFT)));
    }
    observations
}

/// All lengths as they are and with the least slack, in random order within each round.
fn measure(series: Series, seed: u64, first_after: u32) -> Track {
    let work =
        |number: u32| Work::Sleep { mechanism: Sleeper::Wait(Wait::Nanosleep), target_ns: length(number) };
    let mut header = track_of(&(0..2 * LENGTHS).map(|number| work(number % LENGTHS)).collect::<Vec<_>>());
    for condition in header.analysis.header.conditions.iter_mut().skip(LENGTHS as usize) {
        condition.slack_ns = Some(StepControl::LEAST_SLACK);
    }
    let mut track = Track::new(header.analysis.header);
    let mut machine = SimulatedRun::new(LatencyGenerator::new(series, seed));
    let mut order: Vec<u32> = (0..2 * LENGTHS).collect();
    for round in 0..ROUNDS {
        machine.latencies.random.shuffle(&mut order);
        for condition in &order {
            let is_after = condition % LENGTHS >= first_after;
            let step = if *condition < LENGTHS { STEP } else { LEFT };
            let shift = if is_after { step } else { 0.0 };
            machine.turn(*condition, round, SLEEPS, shift).iter().for_each(|line| track.add(line));
        }
    }
    track
}

fn length(number: u32) -> Span {
    Span::from_micros(10 * u64::from(number + 1))
}
