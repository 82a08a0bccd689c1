//! Comparisons of what is known to be alike, and of what is known to differ.

use std::ops::Range;

use howlate_model::{Property, Span};

use super::recorded::{Clocked, track};
use super::series::{Series, Simulated};
use super::tally::{Observation, Scope, Tally, tallied};
use crate::compare::{Comparison, Criteria, Inconclusive, Tested, Verdict, recordings, within};

const ASKED: Criteria = Criteria { confidence: 0.95, margin: None };
/// A difference that is there, in nanoseconds.
const SHIFT: f64 = 3_000.0;

/// How two conditions are measured.
#[derive(Clone, Copy, Debug)]
pub enum Measured {
    /// In turns of so many wake-ups, so many of each.
    InTurns(u32, u64),
    /// In two recordings of so many wake-ups, one after the other.
    Apart(u64),
    /// The same, the first of them ten times as long.
    AfterLonger(u64),
}

impl Measured {
    /// What people ask for: in turns as by default, and the shortest that anybody waits for.
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

    /// What is said of conditions that took turns is said of any machine.
    fn scope(self, series: Series) -> Scope {
        match self {
            Self::InTurns(..) => Scope::of_any(),
            Self::Apart(wakeups) | Self::AfterLonger(wakeups) => {
                Scope::of(series, Span::from_millis(wakeups))
            }
        }
    }

    fn compared(self, series: Series, seed: u64, shift: f64) -> Comparison {
        let mut machine = Clocked::new(Simulated::new(series, seed));
        match self {
            Self::InTurns(rounds, wakeups) => in_turns(&mut machine, rounds, wakeups, shift),
            Self::Apart(wakeups) => apart(&mut machine, (wakeups, wakeups), shift),
            Self::AfterLonger(wakeups) => apart(&mut machine, (10 * wakeups, wakeups), shift),
        }
    }
}

/// Two conditions in random order within each round.
fn in_turns(machine: &mut Clocked, rounds: u32, wakeups: u64, shift: f64) -> Comparison {
    let mut track = track(2);
    for round in 0..rounds {
        let first = u32::from(machine.machine.random.bool());
        for condition in [first, 1 - first] {
            let shift = if condition == 1 { shift } else { 0.0 };
            machine.turn(condition, round, wakeups, shift).iter().for_each(|line| track.add(line));
        }
    }
    within(&track, Property::Policy, None, ASKED).unwrap_or_default()
}

/// Two recordings, one after the other.
fn apart(machine: &mut Clocked, (base, new): (u64, u64), shift: f64) -> Comparison {
    let mut measured = |wakeups: u64, shift: f64| {
        let mut track = track(1);
        machine.turn(0, 0, wakeups, shift).iter().for_each(|line| track.add(line));
        track
    };
    let (base, new) = (measured(base, 0.0), measured(new, shift));
    recordings(&base, &[new], ASKED)
}

fn statistics(comparison: &Comparison) -> impl Iterator<Item = &Tested> {
    comparison.compared.iter().flat_map(|one| &one.statistics)
}

/// Whether chance was found to be no explanation: of two recordings, that is as much as can be said.
fn tells_apart(tested: &Tested) -> bool {
    says_something(tested) && tested.p_corrected <= 1.0 - ASKED.confidence
}

/// What is said of two conditions that are alike, and of two that differ by a known amount.
pub fn comparisons(series: Series, measured: Measured, seeds: Range<u64>) -> Vec<Tally> {
    tallied(seeds, |seed| {
        let comparison = measured.compared(series, seed, 0.0);
        let scope = measured.scope(series);
        let mut said = alike(&comparison, scope);
        said.extend(shifted(&measured.compared(series, seed, SHIFT), scope));
        let detected = detected(&comparison, seed, |shift| measured.compared(series, seed, shift));
        said.extend(
            detected.map(|(statement, stated, is_true)| {
                (statement, stated.filter(|_| scope.is_covered), is_true)
            }),
        );
        let how = measured.name();
        said.into_iter().map(|(what, stated, kept)| (format!("{how}: {what}"), stated, kept)).collect()
    })
}

/// Whether it is said how large a difference is.
fn says_something(tested: &Tested) -> bool {
    tested.inconclusive.is_none_or(|why| why == Inconclusive::OneAfterTheOther)
}

/// No false alarm: in each statistic by itself, and in all of them together.
fn alike(comparison: &Comparison, scope: Scope) -> Vec<Observation> {
    let quiet = |one: &Tested| {
        let is_quiet = one.p > 1.0 - ASKED.confidence;
        scope.observed(format!("no false alarm, {}", one.statistic.name()), is_quiet)
    };
    let mut said: Vec<Observation> =
        statistics(comparison).filter(|one| says_something(one)).map(quiet).collect();
    if !said.is_empty() {
        let is_quiet = !statistics(comparison).any(tells_apart);
        said.push(scope.observed("no false alarm, together".to_owned(), is_quiet));
    }
    let median = statistics(comparison).next();
    said.push(("says something of the median".to_owned(), None, median.is_some_and(says_something)));
    said
}

/// No interval is given that does not hold the difference that is there, not even as it would be without the other numbers.
fn shifted(comparison: &Comparison, scope: Scope) -> Vec<Observation> {
    let holds = |one: &Tested| {
        // Latencies are counted in buckets of 1 %.
        let bucket = one.new_ns.abs() / 100.0;
        let (low, high) = one.interval_alone(1.0 - ASKED.confidence)?;
        let holds = low - bucket <= SHIFT && SHIFT <= high + bucket;
        Some(scope.observed(format!("interval, {}", one.statistic.name()), holds))
    };
    statistics(comparison).filter_map(holds).collect()
}

/// A difference of the size that is called detectable is found, on the same machine once more; each trial tries
/// one statistic.
fn detected(alike: &Comparison, seed: u64, shifted: impl Fn(f64) -> Comparison) -> Option<Observation> {
    let all: Vec<&Tested> = statistics(alike).collect();
    let one = all.get(usize::try_from(seed).ok()? % all.len().max(1))?;
    let least = one.detectable_ns.filter(|_| one.verdict == Verdict::NotDistinguishable)?;
    let shifted = shifted(least);
    let again = statistics(&shifted).find(|other| other.statistic == one.statistic)?;
    Some((
        format!("detectable found, {}", one.statistic.name()),
        Some(0.8),
        tells_apart(again) && again.difference_ns > 0.0,
    ))
}
