//! Self-test: how often comparing a condition with itself finds a difference.

use serde::Serialize;

use super::block_series::Track;
use super::mann_whitney::MannWhitney;
use super::sampling_unit::{self, SamplingUnits};
use super::signed_rank::SignedRank;
use super::statistic::Statistic;
use crate::autocorrelation::variance_inflation;
use crate::exceedance::probability_at_most;

/// Pairs of turns in each comparison: enough for one at 5 %, with some room.
const PAIRS: usize = 8;

/// A share of trials, with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TrialShare {
    /// Trials with a difference.
    pub found: u64,
    /// Number of trials, each comparing two samples of the same condition.
    #[serde(rename = "of")]
    pub trials: u64,
    /// 95 % interval of the share (Clopper–Pearson; trials one after the other count as fewer, because they resemble their neighbours).
    pub interval: (f64, f64),
}

/// False alarms of one statistic.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FalseAlarms {
    /// What was compared in each trial.
    pub statistic: Statistic,
    /// With interleaved and paired turns.
    pub interleaved: TrialShare,
    /// With the same turns taken as one run after the other.
    pub one_after_the_other: TrialShare,
}

/// Compares the first half of a recording's conditions with the second, which must repeat them, in pieces of `PAIRS` rounds; `alpha` is
/// the level of each test. Statistics that turns are too short for are left out.
pub fn false_alarms(track: &Track, alpha: f64) -> Vec<FalseAlarms> {
    let all: Vec<usize> = (0..track.analysis.header.conditions.len()).collect();
    let (base, new) = all.split_at(all.len() / 2);
    let (base, new) = (track.pieces(base), track.pieces(new));
    let test = |statistic: Statistic| {
        let units = sampling_unit::pairs(statistic, &base, &new).ok()?;
        let in_sequence = differences(&units, alpha, sequential);
        Some(FalseAlarms {
            statistic,
            interleaved: trial_share(&differences(&units, alpha, interleaved), 1.0),
            one_after_the_other: trial_share(&in_sequence, inflation(&in_sequence)),
        })
    };
    Statistic::ALL.into_iter().filter_map(test).filter(|alarms| alarms.interleaved.trials > 0).collect()
}

fn differences(units: &SamplingUnits, alpha: f64, p: fn(&[f64], &[f64]) -> f64) -> Vec<bool> {
    let pairs = units.base.chunks_exact(PAIRS).zip(units.new.chunks_exact(PAIRS));
    pairs.map(|(base, new)| p(base, new) <= alpha).collect()
}

/// The share of trials that found a difference; `inflation` of them are worth one independent trial.
fn trial_share(found: &[bool], inflation: f64) -> TrialShare {
    let (trials, found) = (found.len() as u64, found.iter().filter(|found| **found).count() as u64);
    TrialShare { found, trials, interval: interval(found, trials, inflation) }
}

/// Trials of runs one after the other follow one another too: what lasts longer than one makes its neighbours alike, as with the phase of
/// a rhythm.
fn inflation(found: &[bool]) -> f64 {
    let found: Vec<f64> = found.iter().map(|found| f64::from(u8::from(*found))).collect();
    variance_inflation(&[&found], &[&found])
}

fn interleaved(base: &[f64], new: &[f64]) -> f64 {
    let differences: Vec<f64> = new.iter().zip(base).map(|(new, base)| new - base).collect();
    SignedRank::from_differences(&differences).p()
}

/// The first half of the rounds against the second, both sides together in the order of rounds.
fn sequential(base: &[f64], new: &[f64]) -> f64 {
    let all: Vec<f64> = base.iter().zip(new).flat_map(|(base, new)| [*base, *new]).collect();
    let (first, second) = all.split_at(all.len() / 2);
    MannWhitney::from_samples(first, second).p()
}

/// Source: Clopper & Pearson, Biometrika 26 (1934).
fn interval(found: u64, trials: u64, inflation: f64) -> (f64, f64) {
    let [found, rest, trials] = [found, trials - found, trials].map(|count| count as f64 / inflation);
    let at_most = |seen: f64| probability_at_most(seen, trials, 0.975).unwrap_or(1.0);
    (1.0 - at_most(rest), at_most(found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{analysis_of, block_of};
    use howlate_model::{Span, Wait, Work};

    #[test]
    fn shares_have_their_interval() {
        let close = |actual: (f64, f64), expected: (f64, f64)| {
            assert!(
                (actual.0 - expected.0).abs() < 5e-5 && (actual.1 - expected.1).abs() < 5e-5,
                "{actual:?}"
            );
        };
        close(interval(3, 1_000, 1.0), (6.190_999e-4, 8.742_023e-3));
        close(interval(0, 10, 1.0), (0.0, 0.3085));
        close(interval(10, 10, 1.0), (0.6915, 1.0));
    }

    #[test]
    fn trials_that_resemble_their_neighbours_say_less() {
        let width = |found: [u8; 16]| {
            let found = found.map(|found| found == 1);
            let (low, high) = trial_share(&found, inflation(&found)).interval;
            high - low
        };
        let mixed = width([1, 0, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0]);
        let together = width([1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        // As many of independent ones: 24.7 to 75.3 %.
        assert!(mixed >= 0.505 && together > mixed + 0.2, "{mixed} {together}");
    }

    /// Two threads, the second ten times later than the first, which is not what is compared.
    #[test]
    fn the_halves_are_compared_and_not_the_threads() {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let mut track = Track::new(analysis_of(&[work; 4]).header);
        let mut late = fastrand::Rng::with_seed(1);
        for round in 0..80 {
            for condition in 0..4 {
                let level = if condition % 2 == 0 { 5_000 } else { 50_000 };
                track.add(&block_of(condition, round, level + late.i64(0..3_000)));
            }
        }
        let alarms = false_alarms(&track, 0.05);
        assert_eq!(alarms[0].statistic, Statistic::P50);
        assert_eq!(alarms[0].interleaved.trials, 10);
        assert!(alarms[0].interleaved.found <= 3, "{alarms:?}");
        // When the second half of the conditions is later, every comparison says so.
        let mut track = Track::new(analysis_of(&[work; 2]).header);
        (0..80).for_each(|round| {
            (0..2).for_each(|condition| {
                track.add(&block_of(condition, round, 5_000 + 5_000 * i64::from(condition)))
            });
        });
        assert_eq!(false_alarms(&track, 0.05)[0].interleaved.found, 10);
    }
}
