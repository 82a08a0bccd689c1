//! Self-test: how often comparing a condition with itself finds a difference.

use serde::Serialize;

use super::block_series::Track;
use super::mann_whitney::MannWhitney;
use super::sampling_unit::{self, SamplingUnits};
use super::signed_rank::SignedRank;
use super::statistic::Statistic;

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
    /// 95 % interval of the share (Clopper–Pearson).
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
        Some(FalseAlarms {
            statistic,
            interleaved: share(&units, alpha, interleaved),
            one_after_the_other: share(&units, alpha, sequential),
        })
    };
    Statistic::ALL.into_iter().filter_map(test).filter(|alarms| alarms.interleaved.trials > 0).collect()
}

fn share(units: &SamplingUnits, alpha: f64, p: fn(&[f64], &[f64]) -> f64) -> TrialShare {
    let pairs = units.base.chunks_exact(PAIRS).zip(units.new.chunks_exact(PAIRS));
    let (found, trials) = pairs
        .fold((0, 0), |(found, trials), (base, new)| (found + u64::from(p(base, new) <= alpha), trials + 1));
    TrialShare { found, trials, interval: interval(found, trials) }
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
fn interval(found: u64, trials: u64) -> (f64, f64) {
    use crate::exceedance::probability_at_most;
    let high = if found == trials { Some(1.0) } else { probability_at_most(found, trials as f64, 0.975) };
    let rest = trials - found;
    let low = if rest == trials { Some(1.0) } else { probability_at_most(rest, trials as f64, 0.975) };
    (1.0 - low.unwrap_or(1.0), high.unwrap_or(1.0))
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
        close(interval(3, 1_000), (6.190_999e-4, 8.742_023e-3));
        close(interval(0, 10), (0.0, 0.3085));
        close(interval(10, 10), (0.6915, 1.0));
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
