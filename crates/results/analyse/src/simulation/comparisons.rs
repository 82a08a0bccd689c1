//! Comparisons of two equal conditions, and of two that differ by a known amount.

use std::ops::Range;

use howlate_model::{Property, Span};

use super::recording::{SimulatedRun, track};
use super::series::{LatencyGenerator, Series};
use super::tally::{Observation, Scope, StatementTally, run_trials};
use crate::compare::{Comparison, Criteria, Inconclusive, Tested, Verdict, recordings, within};

const CRITERIA: Criteria = Criteria { confidence: 0.95, margin: None };
/// The simulated difference, in nanoseconds.
const SHIFT: f64 = 3_000.0;

/// The plan by which two conditions are measured.
#[derive(Clone, Copy, Debug)]
pub enum MeasurementPlan {
    /// Alternating turns: rounds, and wake-ups per turn.
    InTurns(u32, u64),
    /// Two recordings of this many wake-ups, one after the other.
    Apart(u64),
    /// Two recordings, of which the first is ten times as long as the second, with this many wake-ups.
    AfterLonger(u64),
}

impl MeasurementPlan {
    /// Plans as users have them: the default turns, and short and long recordings.
    pub const ALL: [Self; 6] = [
        Self::InTurns(20, 500),
        Self::InTurns(20, 200),
        Self::Apart(4_000),
        Self::Apart(12_000),
        Self::Apart(60_000),
        Self::AfterLonger(12_000),
    ];

    fn name(self) -> String {
        match self {
            Self::InTurns(rounds, wakeups) => format!("{rounds} pairs of turns of {wakeups} ms"),
            Self::Apart(wakeups) => format!("{} s apart", wakeups / 1_000),
            Self::AfterLonger(wakeups) => format!("{} s after {} s", wakeups / 1_000, wakeups / 100),
        }
    }

    /// Statements about alternating turns hold for every machine; others only for changes that the recordings cover.
    fn scope(self, series: Series) -> Scope {
        match self {
            Self::InTurns(..) => Scope::any(),
            Self::Apart(wakeups) | Self::AfterLonger(wakeups) => {
                Scope::of_run(series, Span::from_millis(wakeups))
            }
        }
    }

    fn compare(self, series: Series, seed: u64, shift: f64) -> Comparison {
        let mut machine = SimulatedRun::new(LatencyGenerator::new(series, seed));
        match self {
            Self::InTurns(rounds, wakeups) => in_turns(&mut machine, rounds, wakeups, shift),
            Self::Apart(wakeups) => apart(&mut machine, (wakeups, wakeups), shift),
            Self::AfterLonger(wakeups) => apart(&mut machine, (10 * wakeups, wakeups), shift),
        }
    }
}

/// Two conditions in random order within each round.
fn in_turns(machine: &mut SimulatedRun, rounds: u32, wakeups: u64, shift: f64) -> Comparison {
    let mut track = track(2);
    for round in 0..rounds {
        let first = u32::from(machine.latencies.random.bool());
        for condition in [first, 1 - first] {
            let shift = if condition == 1 { shift } else { 0.0 };
            machine.turn(condition, round, wakeups, shift).iter().for_each(|line| track.add(line));
        }
    }
    within(&track, Property::Policy, None, CRITERIA).unwrap_or_default()
}

/// Two recordings, one after the other.
fn apart(machine: &mut SimulatedRun, (base, new): (u64, u64), shift: f64) -> Comparison {
    let mut record = |wakeups: u64, shift: f64| {
        let mut track = track(1);
        machine.turn(0, 0, wakeups, shift).iter().for_each(|line| track.add(line));
        track
    };
    let (base, new) = (record(base, 0.0), record(new, shift));
    recordings(&base, &[new], CRITERIA)
}

fn statistics(comparison: &Comparison) -> impl Iterator<Item = &Tested> {
    comparison.compared.iter().flat_map(|compared| &compared.statistics)
}

/// Whether the difference is significant. For two recordings, no more can be stated.
fn is_significant(tested: &Tested) -> bool {
    is_conclusive(tested) && tested.p_corrected <= 1.0 - CRITERIA.confidence
}

/// Tests the statements about two equal conditions, and about two that differ by `SHIFT`.
pub fn comparisons(series: Series, plan: MeasurementPlan, seeds: Range<u64>) -> Vec<StatementTally> {
    run_trials(seeds, |seed| {
        let comparison = plan.compare(series, seed, 0.0);
        let scope = plan.scope(series);
        let mut observations = no_false_alarm(&comparison, scope);
        observations.extend(intervals_contain_shift(&plan.compare(series, seed, SHIFT), scope));
        let detected = detects_detectable(&comparison, seed, |shift| plan.compare(series, seed, shift));
        observations.extend(detected.map(|(statement, required, is_true)| {
            (statement, required.filter(|_| scope.is_covered), is_true)
        }));
        let plan = plan.name();
        observations
            .into_iter()
            .map(|(statement, required, is_true)| (format!("{plan}: {statement}"), required, is_true))
            .collect()
    })
}

/// Whether the comparison states how large the difference is.
fn is_conclusive(tested: &Tested) -> bool {
    tested.inconclusive.is_none_or(|why| why == Inconclusive::OneAfterTheOther)
}

/// No false alarm, in each statistic alone and in all together.
fn no_false_alarm(comparison: &Comparison, scope: Scope) -> Vec<Observation> {
    let observe = |tested: &Tested| {
        let is_quiet = tested.p > 1.0 - CRITERIA.confidence;
        scope.observation(format!("no false alarm, {}", tested.statistic.name()), is_quiet)
    };
    let mut observations: Vec<Observation> =
        statistics(comparison).filter(|tested| is_conclusive(tested)).map(observe).collect();
    if !observations.is_empty() {
        let is_quiet = !statistics(comparison).any(is_significant);
        observations.push(scope.observation("no false alarm, together".to_owned(), is_quiet));
    }
    let median = statistics(comparison).next();
    observations.push(("says something of the median".to_owned(), None, median.is_some_and(is_conclusive)));
    observations
}

/// Each interval contains the simulated difference, also without the correction for several statistics.
fn intervals_contain_shift(comparison: &Comparison, scope: Scope) -> Vec<Observation> {
    let observe = |tested: &Tested| {
        // Latencies are counted in buckets of 1 %.
        let bucket = tested.new_ns.abs() / 100.0;
        let (low, high) = tested.interval_alone(1.0 - CRITERIA.confidence)?;
        let contains = low - bucket <= SHIFT && SHIFT <= high + bucket;
        Some(scope.observation(format!("interval, {}", tested.statistic.name()), contains))
    };
    statistics(comparison).filter_map(observe).collect()
}

/// A difference of the size stated as detectable is found on the same machine. Each trial tests one statistic.
fn detects_detectable(
    equal: &Comparison,
    seed: u64,
    compare_shifted: impl Fn(f64) -> Comparison,
) -> Option<Observation> {
    let statistics_tested: Vec<&Tested> = statistics(equal).collect();
    let tested = statistics_tested.get(usize::try_from(seed).ok()? % statistics_tested.len().max(1))?;
    let detectable = tested.detectable_ns.filter(|_| tested.verdict == Verdict::NotDistinguishable)?;
    let shifted = compare_shifted(detectable);
    let again = statistics(&shifted).find(|again| again.statistic == tested.statistic)?;
    Some((
        format!("detectable found, {}", tested.statistic.name()),
        Some(0.8),
        is_significant(again) && again.difference_ns > 0.0,
    ))
}
