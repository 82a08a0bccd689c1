//! Settings that do nothing, tried beside a baseline; lengths of sleep that are equally late; a condition beside itself.

use std::ops::Range;

use super::recorded::{Clocked, track_by_slack};
use super::series::{Series, Simulated};
use super::tally::{Tally, tallied};
use crate::compare::{ArmState, Statistic, Trial, TrialShare, false_alarms, median};
use crate::steps::{NOISE, cuts};

/// Wake-ups of a turn.
const WAKEUPS: u64 = 200;
const LOOKS: usize = 3;
/// Rounds until the first look; then twice as many, each time.
const FIRST_LOOK: u32 = 16;

/// What a trial says of so many settings that do nothing, at any of its looks.
pub fn settings(series: Series, settings: usize, seeds: Range<u64>) -> Vec<Tally> {
    tallied(seeds, |seed| {
        let mut machine = Clocked::new(Simulated::new(series, seed));
        let mut track = track_by_slack(settings + 1);
        let mut trial = Trial::new(settings, Statistic::P50, LOOKS, 0.95);
        let mut order: Vec<u32> = (0..).take(settings + 1).collect();
        let mut round = 0;
        for look in 0..LOOKS {
            while round < FIRST_LOOK << look {
                machine.machine.random.shuffle(&mut order);
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

/// What `--steps` says of so many lengths that are equally late, in so many rounds.
pub fn sweeps(series: Series, lengths: usize, rounds: usize, seeds: Range<u64>) -> Vec<Tally> {
    tallied(seeds, |seed| {
        let mut machine = Simulated::new(series, seed);
        let mut order: Vec<usize> = (0..lengths).collect();
        let mut row = |_| {
            machine.random.shuffle(&mut order);
            let mut row = vec![0.0; lengths];
            for length in &order {
                let turn: Vec<f64> = (0..WAKEUPS).map(|_| machine.latency()).collect();
                row[*length] = median(&turn).unwrap_or_default();
            }
            row
        };
        let rows: Vec<Vec<f64>> = (0..rounds).map(&mut row).collect();
        let is_quiet = cuts(&rows, seed).is_empty();
        vec![(format!("--steps, {lengths} lengths, {rounds} rounds: no step"), Some(1.0 - NOISE), is_quiet)]
    })
}

/// What `--with-itself` says of two conditions that are one, in so many rounds: turns are paired.
pub fn itself(series: Series, rounds: u32, seeds: Range<u64>) -> Vec<Tally> {
    tallied(seeds, |seed| {
        let mut machine = Clocked::new(Simulated::new(series, seed));
        let mut track = track_by_slack(2);
        for round in 0..rounds {
            let first = u32::from(machine.machine.random.bool());
            for condition in [first, 1 - first] {
                machine.turn(condition, round, WAKEUPS, 0.0).iter().for_each(|line| track.add(line));
            }
        }
        let found = false_alarms(&track, 0.05);
        let holds = |one: TrialShare| one.interval.0 <= 0.05;
        let said = found.iter().map(|one| {
            let statement =
                format!("--with-itself, {rounds} rounds: no more than 5 %, {}", one.statistic.name());
            (statement, Some(0.95), holds(one.interleaved))
        });
        said.collect()
    })
}
