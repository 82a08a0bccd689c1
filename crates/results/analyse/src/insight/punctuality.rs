//! Whether a periodic thread runs on time: how late 99 of 100 turns begin, and how late the worst.

use howlate_model::{Distribution, Latency, Span};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Indexed, loops};
use crate::{LoopOutcomes, Outcome, percentile};

/// How late a periodic thread's turns begin: of all its CPUs together, every planned turn counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Turns")]
pub struct Punctuality {
    /// The conditions, by index in the recording's header.
    pub conditions: Vec<u32>,
    /// The time from one turn to the next.
    #[serde(rename = "period_ns")]
    pub period: Span,
    /// How many turns were planned.
    pub planned: u64,
    /// 99 of 100 begin at most this late.
    #[serde(rename = "p99_ns")]
    pub p99: Latency,
    /// 999 of 1000 begin at most this late. Absent: too few turns.
    #[serde(rename = "p99.9_ns", skip_serializing_if = "Option::is_none")]
    pub p999: Option<Latency>,
    /// Turns that began when the next was due already, or later.
    pub period_late: u64,
}

/// Most results listed; of more, only the worst and the best.
const MOST_LISTED: usize = 4;

/// The punctuality of each loop, in the order of the recording; of many loops only the worst and the best.
pub(super) fn find(all: &[Indexed<'_>]) -> Vec<Punctuality> {
    let mut found: Vec<Punctuality> =
        loops(all).iter().filter_map(|group| punctuality_of_group(group)).collect();
    if found.len() <= MOST_LISTED {
        return found;
    }
    found.sort_by_key(|punctuality| std::cmp::Reverse((punctuality.p99, punctuality.p999)));
    found.drain(1..found.len() - 1);
    found
}

fn punctuality_of_group(group: &[Indexed<'_>]) -> Option<Punctuality> {
    let outcomes: Vec<&Outcome> = group.iter().map(|(_, outcome)| *outcome).collect();
    let conditions = group.iter().map(|(index, _)| *index).collect();
    Some(Punctuality { conditions, ..punctuality_of_outcomes(&outcomes)? })
}

/// How late the iterations of a loop begin, over all its threads; `conditions` stays empty. `None` with too few wake-ups for a 99th
/// percentile, or without a period.
pub fn punctuality_of(threads: &LoopOutcomes<'_>) -> Option<Punctuality> {
    punctuality_of_outcomes(&threads.outcomes().collect::<Vec<_>>())
}

fn punctuality_of_outcomes(outcomes: &[&Outcome]) -> Option<Punctuality> {
    let period = outcomes.first()?.condition.work.period()?;
    let mut planned = Distribution::default();
    outcomes.iter().for_each(|outcome| planned.merge(&outcome.planned()));
    Some(Punctuality {
        conditions: Vec::new(),
        period,
        planned: planned.count(),
        p99: percentile(&planned, 0.99)?,
        p999: percentile(&planned, 0.999),
        period_late: outcomes.iter().map(|outcome| outcome.later_than(period).0).sum(),
    })
}

#[cfg(test)]
mod tests {
    use howlate_model::{Block, Line, MonotonicTime, Wait, Wakeup, Work};

    use super::*;
    use crate::testing::analysis_of;

    /// A loop of 1 ms on each CPU, with these latencies.
    fn loops(cpus: &[&[i64]]) -> crate::Analysis {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let mut header = analysis_of(&vec![work; cpus.len()]).header;
        (0..).zip(&mut header.conditions).for_each(|(cpu, condition)| condition.cpu = Some(cpu));
        let mut analysis = crate::Analysis::new(header);
        for (cpu, late) in (0..).zip(cpus) {
            let mut block = Block { condition: cpu, ..Block::default() };
            let at = MonotonicTime::from_nanos;
            late.iter().for_each(|late| block.record(Wakeup { expected: at(0), ran: at(*late) }, None));
            analysis.add(&Line::Block(Box::new(block)));
        }
        analysis
    }

    fn found(analysis: &crate::Analysis) -> Vec<Punctuality> {
        let all: Vec<Indexed<'_>> = (0..).zip(analysis.outcomes()).collect();
        find(&all)
    }

    #[test]
    fn all_threads_of_a_loop_count_together() {
        let mut late = [10_000; 100];
        late[0] = 2_000_000;
        let [both] = found(&loops(&[&late[..], &[10_000; 100][..]])).try_into().unwrap();
        assert_eq!((both.conditions.as_slice(), both.planned, both.period_late), (&[0, 1][..], 200, 1));
        assert!(both.p99.as_nanos() < 11_000 && both.p999.is_none(), "{both:?}");
        assert_eq!(found(&loops(&[&[10_000; 99][..]])), [], "99 turns have no 99th percentile");
    }

    #[test]
    fn of_many_only_the_worst_and_the_best_are_told() {
        let work = |period: u64| Work::Cyclic {
            mechanism: Wait::ClockNanosleep,
            period_ns: Span::from_millis(period),
        };
        let mut analysis = analysis_of(&[1, 2, 3, 4, 5].map(work));
        for (condition, late) in (0..).zip([3, 9, 1, 5, 7]) {
            let mut block = Block { condition, ..Block::default() };
            let at = MonotonicTime::from_nanos;
            (0..100).for_each(|_| block.record(Wakeup { expected: at(0), ran: at(late * 1_000) }, None));
            analysis.add(&Line::Block(Box::new(block)));
        }
        assert_eq!(
            found(&analysis).iter().map(|punctuality| punctuality.conditions[0]).collect::<Vec<_>>(),
            [1, 2]
        );
    }
}
