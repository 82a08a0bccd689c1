//! `tune` with settings without effect, `--steps` with equally late sleep lengths, and `--with-itself`.

use std::ops::Range;

use super::recording::{SimulatedRun, track_by_slack};
use super::series::{LatencyGenerator, Series};
use super::tally::{StatementTally, run_trials};
use crate::compare::{ArmState, FalseAlarms, Statistic, Trial, TrialShare, Verdict, false_alarms, median};
use crate::steps::{NOISE, cuts};

/// Wake-ups of a turn.
const WAKEUPS: u64 = 200;
const LOOKS: usize = 3;
/// Rounds until the first look; each further look is after twice as many.
const FIRST_LOOK: u32 = 16;

/// Tests the decisions of `tune` on settings without effect, at all of its looks.
pub fn settings(series: Series, settings: usize, seeds: Range<u64>) -> Vec<StatementTally> {
    run_trials(seeds, |seed| {
        let trial = tried(series, settings, seed, |_| 0.0);
        let is_any_decided = trial.arms.iter().any(|arm| arm.state == ArmState::Decided);
        vec![(
            format!("tune, {settings} settings: none that does nothing is decided"),
            Some(0.95),
            !is_any_decided,
        )]
    })
}

/// The trial of settings that each add so many nanoseconds, after all looks.
fn tried(series: Series, settings: usize, seed: u64, effect: impl Fn(usize) -> f64) -> Trial {
    let mut machine = SimulatedRun::new(LatencyGenerator::new(series, seed));
    let mut track = track_by_slack(settings + 1);
    let mut trial = Trial::new(settings, Statistic::P50, LOOKS, 0.95);
    let mut order: Vec<u32> = (0..).take(settings + 1).collect();
    let mut round = 0;
    for look in 0..LOOKS {
        while round < FIRST_LOOK << look {
            machine.latencies.random.shuffle(&mut order);
            for condition in &order {
                let shift = (*condition as usize).checked_sub(1).map_or(0.0, &effect);
                machine.turn(*condition, round, WAKEUPS, shift).iter().for_each(|line| track.add(line));
            }
            round += 1;
        }
        trial.look(&track, &[0], 0, |setting| vec![setting + 1]);
    }
    trial
}

/// What each second setting adds, in nanoseconds.
const EFFECT: f64 = 1_500.0;

/// Tests the decisions of `tune` where every second setting does something: those that do nothing, and the interval of each that is
/// decided, at whichever look that was.
pub fn settings_that_help(series: Series, settings: usize, seeds: Range<u64>) -> Vec<StatementTally> {
    run_trials(seeds, |seed| {
        let effect = |setting: usize| if setting % 2 == 1 { EFFECT } else { 0.0 };
        let trial = tried(series, settings, seed, effect);
        let decided = || trial.arms.iter().enumerate().filter(|(_, arm)| arm.state == ArmState::Decided);
        let option = format!("tune, every second of {settings} does something");
        let is_right =
            decided().all(|(setting, arm)| setting % 2 == 1 && arm.verdict(Statistic::P50) == Verdict::Worse);
        let mut observations = vec![(format!("{option}: none is wrongly decided"), Some(0.95), is_right)];
        for (setting, arm) in trial.arms.iter().enumerate() {
            let Some(tested) = arm.number(Statistic::P50) else { continue };
            let Some((low, high)) = tested.interval_ns else { continue };
            let bucket = tested.new_ns.abs() / 100.0;
            let contains = (low - bucket..=high + bucket).contains(&effect(setting));
            observations.push((format!("{option}: interval"), Some(0.95), contains));
        }
        observations
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

/// Tests `--with-itself`: two equal conditions in paired turns, and the same turns one after the other.
pub fn itself(series: Series, rounds: u32, seeds: Range<u64>) -> Vec<StatementTally> {
    let others = 4_000_000..4_000_000 + (seeds.end - seeds.start).max(100);
    let truth = sequential_share(others.flat_map(|seed| with_itself(series, rounds, seed)).collect());
    run_trials(seeds, |seed| {
        let is_possible = |share: TrialShare| share.interval.0 <= 0.05;
        let mut observations = Vec::new();
        for false_alarms in with_itself(series, rounds, seed) {
            let name = false_alarms.statistic.name();
            let statement = |what: &str| format!("--with-itself, {rounds} rounds: {what}, {name}");
            let interleaved = is_possible(false_alarms.interleaved);
            observations.push((statement("no more than 5 %"), Some(0.95), interleaved));
            let (low, high) = false_alarms.one_after_the_other.interval;
            let truth = truth(false_alarms.statistic);
            let contains = low <= truth && truth <= high;
            observations.push((statement("share of runs one after the other"), Some(0.95), contains));
        }
        observations
    })
}

/// The share of comparisons of runs one after the other that find a difference.
fn sequential_share(runs: Vec<FalseAlarms>) -> impl Fn(Statistic) -> f64 {
    move |statistic| {
        let shares = runs.iter().filter(|alarms| alarms.statistic == statistic);
        let (found, trials) = shares.fold((0, 0), |(found, trials), alarms| {
            let share = alarms.one_after_the_other;
            (found + share.found, trials + share.trials)
        });
        found as f64 / trials.max(1) as f64
    }
}

fn with_itself(series: Series, rounds: u32, seed: u64) -> Vec<FalseAlarms> {
    let mut machine = SimulatedRun::new(LatencyGenerator::new(series, seed));
    let mut track = track_by_slack(2);
    for round in 0..rounds {
        let first = u32::from(machine.latencies.random.bool());
        for condition in [first, 1 - first] {
            machine.turn(condition, round, WAKEUPS, 0.0).iter().for_each(|line| track.add(line));
        }
    }
    false_alarms(&track, 0.05)
}
