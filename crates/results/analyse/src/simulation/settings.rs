//! `tune` with settings without effect, `--steps` with equally late sleep lengths, and `--with-itself`.

use std::ops::Range;

use super::recording::{SimulatedRun, track_by_slack};
use super::series::{LatencyGenerator, Series};
use super::tally::{StatementTally, run_trials};
use crate::compare::{ArmState, Statistic, Trial, TrialShare, false_alarms, median};
use crate::steps::{NOISE, cuts};

/// Wake-ups of a turn.
const WAKEUPS: u64 = 200;
const LOOKS: usize = 3;
/// Rounds until the first look; each further look is after twice as many.
const FIRST_LOOK: u32 = 16;

/// Tests the decisions of `tune` on settings without effect, at all of its looks.
pub fn settings(series: Series, settings: usize, seeds: Range<u64>) -> Vec<StatementTally> {
    run_trials(seeds, |seed| {
        let mut machine = SimulatedRun::new(LatencyGenerator::new(series, seed));
        let mut track = track_by_slack(settings + 1);
        let mut trial = Trial::new(settings, Statistic::P50, LOOKS, 0.95);
        let mut order: Vec<u32> = (0..).take(settings + 1).collect();
        let mut round = 0;
        for look in 0..LOOKS {
            while round < FIRST_LOOK << look {
                machine.latencies.random.shuffle(&mut order);
                for condition in &order {
                    machine.turn(*condition, round, WAKEUPS, 0.0).iter().for_each(|line| track.add(line));
                }
                round += 1;
            }
            trial.look(&track, &[0], 0, |setting| vec![setting + 1]);
        }
        let is_any_decided = trial.arms.iter().any(|arm| arm.state == ArmState::Decided);
        vec![(
            format!("tune, {settings} settings: none that does nothing is decided"),
            Some(0.95),
            !is_any_decided,
        )]
    })
}

/// Tests `--steps` on sleep lengths that are equally late.
pub fn sweeps(series: Series, lengths: usize, rounds: usize, seeds: Range<u64>) -> Vec<StatementTally> {
    run_trials(seeds, |seed| {
        let mut generator = LatencyGenerator::new(series, seed);
        let mut order: Vec<usize> = (0..lengths).collect();
        let mut row = |_| {
            generator.random.shuffle(&mut order);
            let mut row = vec![0.0; lengths];
            for length in &order {
                let turn: Vec<f64> = (0..WAKEUPS).map(|_| generator.latency()).collect();
                row[*length] = median(&turn).unwrap_or_default();
            }
            row
        };
        let rows: Vec<Vec<f64>> = (0..rounds).map(&mut row).collect();
        let is_quiet = cuts(&rows, seed).is_empty();
        vec![(format!("--steps, {lengths} lengths, {rounds} rounds: no step"), Some(1.0 - NOISE), is_quiet)]
    })
}

/// Tests `--with-itself`: two equal conditions in paired turns.
pub fn itself(series: Series, rounds: u32, seeds: Range<u64>) -> Vec<StatementTally> {
    run_trials(seeds, |seed| {
        let mut machine = SimulatedRun::new(LatencyGenerator::new(series, seed));
        let mut track = track_by_slack(2);
        for round in 0..rounds {
            let first = u32::from(machine.latencies.random.bool());
            for condition in [first, 1 - first] {
                machine.turn(condition, round, WAKEUPS, 0.0).iter().for_each(|line| track.add(line));
            }
        }
        let false_alarms = false_alarms(&track, 0.05);
        let is_possible = |share: TrialShare| share.interval.0 <= 0.05;
        let observations = false_alarms.iter().map(|false_alarms| {
            let statement = format!(
                "--with-itself, {rounds} rounds: no more than 5 %, {}",
                false_alarms.statistic.name()
            );
            (statement, Some(0.95), is_possible(false_alarms.interleaved))
        });
        observations.collect()
    })
}
