//! Simulated runs: how often a difference is found where there is none, and where there is one.
//!
//! The noise is alike from wake-up to wake-up and from second to second, as latencies are.

#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "small numbers")]

use howlate_model::{
    Block, Condition, Latency, Line, Load, MonotonicTime, Policy, Property, Span, Wait, Work,
};
use statrs::distribution::{Binomial, DiscreteCDF};

use super::{Asked, Comparison, Statistic, Track, Verdict, recordings, within};

const WAKEUPS: usize = 100;
const ASKED: Asked = Asked { confidence: 0.95, margin: None };

/// A machine whose lateness wanders.
struct Machine {
    random: fastrand::Rng,
    /// Autocorrelation from second to second.
    slow: f64,
    level: f64,
    fast: f64,
}

impl Machine {
    fn new(seed: u64, slow: f64) -> Self {
        let mut machine = Self { random: fastrand::Rng::with_seed(seed), slow, level: 0.0, fast: 0.0 };
        (0..50).for_each(|_| machine.second());
        machine
    }

    /// Bell-shaped, with variance 1.
    fn normal(&mut self) -> f64 {
        2.0 * ((0..3).map(|_| self.random.f64()).sum::<f64>() - 1.5)
    }

    fn second(&mut self) {
        self.level = self.slow * self.level + (1.0 - self.slow * self.slow).sqrt() * self.normal();
    }

    /// A second's block; the latency of each wake-up is raised by `shift`.
    fn block(&mut self, condition: u32, round: u32, second: u32, shift: f64) -> Line {
        self.second();
        let from_ns = MonotonicTime::from_nanos(i64::from(second) * 1_000_000_000);
        let until_ns = from_ns.plus(Span::from_secs(1));
        let mut block = Block { condition, round, from_ns, until_ns, ..Block::default() };
        for _ in 0..WAKEUPS {
            self.fast = 0.9 * self.fast + 0.44 * self.normal();
            let late = 20_000.0 * (0.1 * self.level + 0.2 * self.fast).exp() + shift;
            block.latency.record(Latency::from_nanos(late as i64));
        }
        Line::Block(Box::new(block))
    }
}

fn track(policies: &[Policy]) -> Track {
    let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(10) };
    let condition = |&policy: &Policy| Condition {
        work,
        policy,
        slack_ns: None,
        cpu: None,
        thread: 0,
        load: Load::default(),
        kernel: String::new(),
        on_host: None,
    };
    let mut header = crate::testing::analysis_of(&[]).header;
    header.conditions = policies.iter().map(condition).collect();
    Track::new(header)
}

/// Turns of two conditions, in random order within each round.
fn interleaved(machine: &mut Machine, rounds: u32, shift: f64) -> Comparison {
    let mut track = track(&[Policy::OTHER, Policy::Batch]);
    for round in 0..rounds {
        let first = u32::from(machine.random.bool());
        for (condition, place) in [first, 1 - first].into_iter().zip(0..) {
            let shift = if condition == 1 { shift } else { 0.0 };
            track.add(&machine.block(condition, round, 2 * round + place, shift));
        }
    }
    within(&track, Property::Policy, None, ASKED).unwrap()
}

/// Two recordings, one after the other.
fn separate(machine: &mut Machine, seconds: u32, shift: f64) -> Comparison {
    let mut one = |shift: f64| {
        let mut track = track(&[Policy::OTHER]);
        (0..seconds).for_each(|second| track.add(&machine.block(0, 0, second, shift)));
        track
    };
    let (base, new) = (one(0.0), one(shift));
    recordings(&base, &[new], ASKED)
}

/// How many of `trials` runs say something.
fn count(trials: u64, mut says: impl FnMut(u64) -> bool) -> f64 {
    (0..trials).filter(|seed| says(*seed)).count() as f64
}

/// The most that chance makes of `trials` where each errs with probability `rate`: 99 % of cases.
fn at_most(trials: u64, rate: f64) -> f64 {
    let binomial = Binomial::new(rate, trials).unwrap();
    binomial.inverse_cdf(0.99) as f64
}

fn tells_apart(comparison: &Comparison) -> bool {
    comparison.verdicts().any(|verdict| matches!(verdict, Verdict::Better | Verdict::Worse))
}

const TRIALS: u64 = 200;

/// One false alarm among all statistics of a comparison is one too many.
#[test]
fn turns_of_the_same_condition_are_rarely_told_apart() {
    // However much the machine wanders.
    let alarms = count(TRIALS, |seed| tells_apart(&interleaved(&mut Machine::new(seed, 0.95), 10, 0.0)));
    assert!(alarms <= at_most(TRIALS, 0.05), "{alarms} of {TRIALS}");
}

/// Even on a machine that wanders more slowly than any measured one (0.33 from second to second).
#[test]
fn recordings_of_the_same_condition_are_rarely_told_apart() {
    let alarms = count(TRIALS, |seed| tells_apart(&separate(&mut Machine::new(seed, 0.8), 60, 0.0)));
    assert!(alarms <= at_most(TRIALS, 0.05), "{alarms} of {TRIALS}");
}

/// What the same comparison says when single wake-ups are taken to be independent.
#[test]
fn a_test_of_single_wake_ups_would_raise_alarms_all_the_time() {
    let alarms = count(30, |seed| {
        let mut machine = Machine::new(seed, 0.33);
        let mut one = || -> Vec<f64> {
            let Line::Block(block) = machine.block(0, 0, 0, 0.0) else { unreachable!("a block") };
            let all =
                block.latency.buckets().flat_map(|bucket| vec![bucket.lowest as f64; bucket.count as usize]);
            all.collect()
        };
        super::mann_whitney::MannWhitney::of(&one(), &one()).p() <= 0.05
    });
    assert!(alarms > 10.0, "{alarms} of 30");
}

/// The median's smallest difference that could have been seen, and whether a shift of that size is found.
fn finds_what_it_says(seed: u64, run: impl Fn(&mut Machine, f64) -> Comparison) -> Option<bool> {
    let median = |comparison: &Comparison| comparison.compared[0].statistics[0].clone();
    let alike = median(&run(&mut Machine::new(seed, 0.33), 0.0));
    // The same machine once more, with the shift.
    let shifted = median(&run(&mut Machine::new(seed, 0.33), alike.detectable_ns?));
    assert_eq!(shifted.statistic, Statistic::P50);
    Some(shifted.verdict == Verdict::Worse)
}

#[track_caller]
fn most_are_found(run: impl Fn(&mut Machine, f64) -> Comparison) {
    let found: Vec<bool> = (0..TRIALS).filter_map(|seed| finds_what_it_says(seed, &run)).collect();
    let share = found.iter().filter(|found| **found).count() as f64 / found.len() as f64;
    assert!(share >= 0.8 && found.len() > 150, "{share} of {}", found.len());
}

#[test]
fn a_shift_of_the_stated_size_is_found_between_turns() {
    most_are_found(|machine, shift| interleaved(machine, 10, shift));
}

#[test]
fn a_shift_of_the_stated_size_is_found_between_recordings() {
    most_are_found(|machine, shift| separate(machine, 20, shift));
}
