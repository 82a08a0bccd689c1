//! A run that goes on until it is known which of two conditions is later: the sign of the difference, pair of turns by pair
//! of turns.

use std::collections::BTreeMap;

use howlate_model::{Span, StopRule};

use super::found::{Decision, Found};
use super::{decisive, sign_test};
use crate::{Analysis, Together, TurnNumber, together};

/// What is looked at of each turn; either may decide.
const NUMBERS: [fn(&TurnNumber) -> Option<i64>; 2] =
    [|turn| Some(turn.p50?.as_nanos()), |turn| Some(turn.p99?.as_nanos())];

/// From this evidence on either decides.
fn enough() -> f64 {
    decisive() + (NUMBERS.len() as f64).ln()
}

/// The fewest pairs of turns that can decide.
pub fn least_pairs() -> u64 {
    sign_test::least_pairs(0, enough())
}

/// What is known of the two; `None` where there are not two.
pub(crate) fn compared(analysis: &Analysis) -> Option<Found> {
    let [first, second] = &together(analysis)[..] else { return None };
    let signs = NUMBERS.map(|number| Signs::count(&by_round(first, number), &by_round(second, number)));
    let told = signs.iter().filter(|signs| signs.is_decided).min_by_key(|signs| signs.pairs);
    let shown = told.unwrap_or(&signs[0]);
    Some(Found {
        decision: if told.is_some() { Decision::Reached } else { Decision::Undecided },
        looked: shown.pairs,
        covered: covered(first).plus(covered(second)),
        events: Some(shown.first_later),
        pairs: Some(shown.pairs),
        ..Found::nothing(StopRule::Compared)
    })
}

/// Threads of a loop run side by side.
fn covered(one: &Together<'_>) -> Span {
    one.outcomes().map(|outcome| outcome.covered()).max().unwrap_or_default()
}

/// A number of each turn of a loop: the sum over its threads, where all of them have it.
fn by_round(one: &Together<'_>, number: fn(&TurnNumber) -> Option<i64>) -> BTreeMap<u32, i64> {
    let mut sums: BTreeMap<u32, (usize, i64)> = BTreeMap::new();
    for turn in one.outcomes().flat_map(|outcome| outcome.turns()) {
        let Some(value) = number(&turn) else { continue };
        let (threads, sum) = sums.entry(turn.round).or_default();
        (*threads, *sum) = (*threads + 1, sum.saturating_add(value));
    }
    sums.into_iter()
        .filter(|(_, (threads, _))| *threads == one.threads())
        .map(|(round, (_, sum))| (round, sum))
        .collect()
}

/// How often the first of two was later, in the order of the turns, until that decided.
#[derive(Clone, Copy, Debug, Default)]
struct Signs {
    pairs: u64,
    first_later: u64,
    is_decided: bool,
}

impl Signs {
    fn count(first: &BTreeMap<u32, i64>, second: &BTreeMap<u32, i64>) -> Self {
        let mut signs = Self::default();
        for (round, first) in first {
            let Some(second) = second.get(round).filter(|second| *second != first) else { continue };
            signs.pairs += 1;
            signs.first_later += u64::from(first > second);
            // A run that went on for a turn more says the same.
            signs.is_decided = sign_test::evidence(signs.first_later, signs.pairs) >= enough();
            if signs.is_decided {
                break;
            }
        }
        signs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequential::known;
    use crate::testing::{analysis_of, block_of};
    use howlate_model::{Wait, Work};

    fn analysis(conditions: usize) -> Analysis {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let mut header = analysis_of(&vec![work; conditions]).header;
        header.conditions.iter_mut().zip(["other", "fifo:80", "rr:1"]).for_each(|(one, policy)| {
            one.policy = policy.parse().unwrap();
        });
        header.until = Some(StopRule::Compared);
        Analysis::new(header)
    }

    #[test]
    fn pairs_of_turns_that_agree_decide_at_the_eighth() {
        assert_eq!(least_pairs(), 8);
        let mut analysis = analysis(2);
        for round in 0..12 {
            let found = known(&analysis).unwrap();
            assert_eq!(found.decision == Decision::Reached, round >= 8, "{round}");
            assert_eq!((found.pairs, found.events), (Some(u64::from(round.min(8))), Some(0)));
            analysis.add(&block_of(0, round, 5_000));
            analysis.add(&block_of(1, round, 9_000));
        }
    }

    #[test]
    fn turns_that_are_alike_and_turns_without_the_other_are_no_pairs() {
        let mut analysis = analysis(2);
        for round in 0..20 {
            analysis.add(&block_of(0, round, 5_000));
            analysis.add(&block_of(1, round, 5_000));
        }
        analysis.add(&block_of(0, 20, 9_000));
        let found = known(&analysis).unwrap();
        assert_eq!((found.decision, found.pairs), (Decision::Undecided, Some(0)));
    }

    #[test]
    fn three_are_not_compared() {
        assert_eq!(known(&analysis(3)).unwrap(), Found::nothing(StopRule::Compared));
    }
}
