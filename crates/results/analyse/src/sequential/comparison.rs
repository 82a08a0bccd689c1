//! Runs that go on until it is certain which of two conditions is later: a sequential sign test over pairs of turns.

use std::collections::BTreeMap;

use howlate_model::{Span, StopRule};

use super::progress::{Decision, Progress};
use super::{decisive, sign_test};
use crate::{Analysis, LoopOutcomes, TurnNumber, per_loop};

/// The numbers of each turn that are compared; either may decide.
const NUMBERS: [fn(&TurnNumber) -> Option<i64>; 2] =
    [|turn| Some(turn.p50?.as_nanos()), |turn| Some(turn.p99?.as_nanos())];

/// The evidence from which on either decides.
fn enough_evidence() -> f64 {
    decisive() + (NUMBERS.len() as f64).ln()
}

/// The fewest pairs of turns that can decide.
pub fn least_pairs() -> u64 {
    sign_test::least_pairs(0, enough_evidence())
}

/// The progress of comparing two conditions; `None` if there are not two.
pub(crate) fn compare(analysis: &Analysis) -> Option<Progress> {
    let [first, second] = &per_loop(analysis)[..] else { return None };
    let signs = NUMBERS.map(|number| Signs::count(&by_round(first, number), &by_round(second, number)));
    let decided = signs.iter().filter(|signs| signs.is_decided).min_by_key(|signs| signs.pairs);
    let reported = decided.unwrap_or(&signs[0]);
    Some(Progress {
        decision: if decided.is_some() { Decision::Reached } else { Decision::Undecided },
        looked: reported.pairs,
        covered: time_covered(first).plus(time_covered(second)),
        events: Some(reported.first_later),
        pairs: Some(reported.pairs),
        ..Progress::none(StopRule::Compared)
    })
}

/// Time measured; threads of a loop run side by side.
fn time_covered(threads: &LoopOutcomes<'_>) -> Span {
    threads.outcomes().map(|outcome| outcome.covered()).max().unwrap_or_default()
}

/// A number of each turn of a loop: the sum over its threads, if all of them have it.
fn by_round(threads: &LoopOutcomes<'_>, number: fn(&TurnNumber) -> Option<i64>) -> BTreeMap<u32, i64> {
    let mut sums: BTreeMap<u32, (usize, i64)> = BTreeMap::new();
    for turn in threads.outcomes().flat_map(|outcome| outcome.turns()) {
        let Some(value) = number(&turn) else { continue };
        let (thread_count, sum) = sums.entry(turn.round).or_default();
        (*thread_count, *sum) = (*thread_count + 1, sum.saturating_add(value));
    }
    sums.into_iter()
        .filter(|(_, (thread_count, _))| *thread_count == threads.threads())
        .map(|(round, (_, sum))| (round, sum))
        .collect()
}

/// How often the first of two was later, in the order of the turns, until the test was decided.
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
            // Stop here, so that a run that went on for a turn more has the same result.
            signs.is_decided = sign_test::evidence(signs.first_later, signs.pairs) >= enough_evidence();
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
    use crate::sequential::progress_of;
    use crate::testing::{analysis_of, block_of};
    use howlate_model::{Wait, Work};

    fn analysis(conditions: usize) -> Analysis {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let mut header = analysis_of(&vec![work; conditions]).header;
        header.conditions.iter_mut().zip(["other", "fifo:80", "rr:1"]).for_each(|(condition, policy)| {
            condition.policy = policy.parse().unwrap();
        });
        header.until = Some(StopRule::Compared);
        Analysis::new(header)
    }

    #[test]
    fn pairs_of_turns_that_agree_decide_at_the_eighth() {
        assert_eq!(least_pairs(), 8);
        let mut analysis = analysis(2);
        for round in 0..12 {
            let found = progress_of(&analysis).unwrap();
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
        let found = progress_of(&analysis).unwrap();
        assert_eq!((found.decision, found.pairs), (Decision::Undecided, Some(0)));
    }

    #[test]
    fn three_are_not_compared() {
        assert_eq!(progress_of(&analysis(3)).unwrap(), Progress::none(StopRule::Compared));
    }
}
