//! Equivalence within a margin, of many conditions that differ by exactly that, and of many that do not differ.

use std::ops::Range;

use howlate_model::{Margin, Property, Span};

use super::recorded::{Clocked, track_by_slack};
use super::series::{Series, Simulated};
use super::tally::{Observation, Tally, tallied};
use crate::compare::{Comparison, Criteria, Statistic, Tested, Verdict, within};

const MARGIN: Span = Span::from_micros(3);
/// Turns of each condition, and their wake-ups.
const ROUNDS: u32 = 20;
const WAKEUPS: u64 = 200;

/// What is said of so many conditions beside a base, in turns.
pub fn equivalence(series: Series, conditions: usize, seeds: Range<u64>) -> Vec<Tally> {
    tallied(seeds, |seed| {
        let how = format!("--margin of {conditions}");
        let differ = compared(series, seed, conditions, MARGIN.as_nanos() as f64);
        let is_wrong = differ.verdicts().any(|verdict| verdict == Verdict::Equivalent);
        let mut said: Vec<Observation> =
            vec![(format!("{how}: none is falsely equivalent"), Some(0.95), !is_wrong)];
        let alike = compared(series, seed, conditions, 0.0);
        for statistic in [Statistic::P50, Statistic::P99] {
            let all = || alike.compared.iter().flat_map(|one| &one.statistics);
            let of_it = all().filter(|one| one.statistic == statistic);
            let found = |one: &Tested| one.verdict == Verdict::Equivalent;
            let statement = format!("{how}: equal ones are found so, {}", statistic.name());
            said.extend(of_it.map(|one| (statement.clone(), None, found(one))));
        }
        said
    })
}

fn compared(series: Series, seed: u64, conditions: usize, shift: f64) -> Comparison {
    let mut machine = Clocked::new(Simulated::new(series, seed));
    let mut track = track_by_slack(conditions + 1);
    let mut order: Vec<u32> = (0..).take(conditions + 1).collect();
    for round in 0..ROUNDS {
        machine.machine.random.shuffle(&mut order);
        for condition in &order {
            let shift = if *condition == 0 { 0.0 } else { shift };
            machine.turn(*condition, round, WAKEUPS, shift).iter().for_each(|line| track.add(line));
        }
    }
    let criteria = Criteria { confidence: 0.95, margin: Some(Margin::Length(MARGIN)) };
    within(&track, Property::Slack, None, criteria).unwrap_or_default()
}
