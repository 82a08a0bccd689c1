//! The ratio of two conditions' latencies, from the turns they took in the same rounds.

use std::collections::BTreeMap;

use howlate_model::Latency;

use crate::compare::SignedRank;
use crate::{Outcome, TurnNumber};

/// Significance level of all statements together.
const ALPHA: f64 = 0.05;

/// Result of comparing two conditions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ratio {
    /// One is later, by this factor: a 95 % interval that does not contain 1.
    Settled {
        /// Lower end of the interval.
        low: f64,
        /// Upper end of the interval.
        high: f64,
        /// Pairs of turns compared.
        pairs: usize,
    },
    /// The turns do not distinguish them, or are too few.
    Open {
        /// Pairs of turns compared.
        pairs: usize,
    },
}

/// The ratio of `new` to `base` in the `number` of each turn, as one of `statements` made together (Bonferroni).
///
/// Turns of one round are a pair; the logarithms of their ratios are tested by flipping signs, as `compare` does with
/// differences.
pub fn ratio(
    base: &Outcome,
    new: &Outcome,
    number: fn(&TurnNumber) -> Option<Latency>,
    statements: usize,
) -> Ratio {
    ratio_of_loops(&[(base, new)], number, statements)
}

/// The ratio for loops: `threads` pairs each thread of one loop with its counterpart of the other. All threads of a round are one pair,
/// as they ran side by side: its logarithm is the mean of theirs.
pub(crate) fn ratio_of_loops(
    threads: &[(&Outcome, &Outcome)],
    number: fn(&TurnNumber) -> Option<Latency>,
    statements: usize,
) -> Ratio {
    let mut rounds: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (base, new) in threads {
        let news: BTreeMap<u32, TurnNumber> =
            new.turns().into_iter().map(|turn| (turn.round, turn)).collect();
        for old in base.turns() {
            let both = news.get(&old.round).and_then(|new| Some((number(&old)?, number(new)?)));
            if let Some((old_value, new_value)) = both {
                rounds.entry(old.round).or_default().push(logarithm(new_value) - logarithm(old_value));
            }
        }
    }
    let mean = |ratios: Vec<f64>| ratios.iter().sum::<f64>() / ratios.len() as f64;
    let ratios: Vec<f64> = rounds.into_values().map(mean).collect();
    let pairs = ratios.len();
    let alpha = ALPHA / statements.max(1) as f64;
    match SignedRank::from_differences(&ratios).interval(alpha) {
        Some((low, high)) if low > 0.0 || high < 0.0 => {
            Ratio::Settled { low: low.exp(), high: high.exp(), pairs }
        }
        _ => Ratio::Open { pairs },
    }
}

/// Natural logarithm; 1 ns is the least that a clock can tell.
fn logarithm(latency: Latency) -> f64 {
    (latency.as_nanos().max(1) as f64).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{analysis_of, block_of};
    use howlate_model::{Span, Wait, Work};

    fn ratio_of(rounds: u32, late: impl Fn(u32, u32) -> i64) -> Ratio {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let mut analysis = analysis_of(&[work, work]);
        for round in 0..rounds {
            (0..2).for_each(|condition| analysis.add(&block_of(condition, round, late(condition, round))));
        }
        let [base, new] = analysis.outcomes() else { panic!("two conditions") };
        ratio(base, new, |turn| turn.p50, 1)
    }

    #[test]
    fn a_ratio_takes_enough_turns() {
        let thrice = |condition: u32, round: u32| i64::from((1 + 2 * condition) * (10_000 + 100 * round));
        assert_eq!(ratio_of(3, thrice), Ratio::Open { pairs: 3 });
        let Ratio::Settled { low, high, pairs: 8 } = ratio_of(8, thrice) else { panic!("it is settled") };
        assert!(low > 2.9 && high < 3.1, "{low} to {high}");
    }

    #[test]
    fn what_goes_both_ways_is_open() {
        let either = |condition: u32, round: u32| i64::from(10_000 + 5_000 * ((condition + round) % 2));
        assert_eq!(ratio_of(10, either), Ratio::Open { pairs: 10 });
    }
}
