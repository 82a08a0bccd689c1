//! Equivalence within a margin, of conditions that differ by exactly the margin, and of equal ones.

use std::ops::Range;

use howlate_model::{Margin, Property, Span};

use super::recording::{SimulatedRun, track_by_slack};
use super::series::{LatencyGenerator, Series};
use super::tally::{Observation, StatementTally, run_trials};
use crate::compare::{Comparison, Criteria, Statistic, Tested, Verdict, within};

const MARGIN: Span = Span::from_micros(3);
/// Turns of each condition, and their wake-ups.
const ROUNDS: u32 = 20;
const WAKEUPS: u64 = 200;

/// Tests the statements about `conditions` conditions compared with a base, in alternating turns.
pub fn equivalence(series: Series, conditions: usize, seeds: Range<u64>) -> Vec<StatementTally> {
    run_trials(seeds, |seed| {
        let option = format!("--margin of {conditions}");
        let different = compare(series, seed, conditions, MARGIN.as_nanos() as f64);
        let is_wrong = different.verdicts().any(|verdict| verdict == Verdict::Equivalent);
        let mut observations: Vec<Observation> =
            vec![(format!("{option}: none is falsely equivalent"), Some(0.95), !is_wrong)];
        let equal = compare(series, seed, conditions, 0.0);
        for statistic in [Statistic::P50, Statistic::P99] {
            let tested = equal
                .compared
                .iter()
                .flat_map(|compared| &compared.statistics)
                .filter(|tested| tested.statistic == statistic);
            let is_equivalent = |tested: &Tested| tested.verdict == Verdict::Equivalent;
            let statement = format!("{option}: equal ones are found so, {}", statistic.name());
            observations.extend(tested.map(|tested| (statement.clone(), None, is_equivalent(tested))));
        }
        observations
    })
}

fn compare(series: Series, seed: u64, conditions: usize, shift: f64) -> Comparison {
    let mut machine = SimulatedRun::new(LatencyGenerator::new(series, seed));
    let mut track = track_by_slack(conditions + 1);
    let mut order: Vec<u32> = (0..).take(conditions + 1).collect();
    for round in 0..ROUNDS {
        machine.latencies.random.shuffle(&mut order);
        for condition in &order {
            let shift = if *condition == 0 { 0.0 } else { shift };
            machine.turn(*condition, round, WAKEUPS, shift).iter().for_each(|line| track.add(line));
        }
    }
    let criteria = Criteria { confidence: 0.95, margin: Some(Margin::Length(MARGIN)) };
    within(&track, Property::Slack, None, criteria).unwrap_or_default()
}
