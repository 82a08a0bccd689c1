//! The threads of one loop on all its CPUs, as one result.
//!
//! `cyclic` measures a thread on each CPU, but users ask how late their loop is. Conditions that differ only in thread number and
//! CPU are one loop.

use howlate_model::{Condition, Distribution, HasProperties, Property, PropertyValue, Span};

use crate::cause::{Traces, Why};
use crate::{Analysis, Outcome};

/// Outcomes that differ only in thread number and CPU.
#[derive(Clone, Debug)]
pub struct LoopOutcomes<'a> {
    first: &'a Outcome,
    rest: Vec<&'a Outcome>,
    /// Whether it stands for one thread of its loop, identified by its CPU, or by its number if it has none.
    is_single_thread: bool,
}

/// The loops of a recording, in its order.
pub fn per_loop(analysis: &Analysis) -> Vec<LoopOutcomes<'_>> {
    let join = |mut outcomes: Vec<_>| {
        let rest = outcomes.split_off(1);
        outcomes.pop().map(|first| LoopOutcomes { first, rest, is_single_thread: false })
    };
    group_by_loop(analysis.outcomes().iter(), |outcome| outcome).into_iter().filter_map(join).collect()
}

/// The threads of a recording, each by itself, those of a loop one after the other.
pub fn per_thread(analysis: &Analysis) -> Vec<LoopOutcomes<'_>> {
    let loops = group_by_loop(analysis.outcomes().iter(), |outcome| outcome);
    loops
        .into_iter()
        .flatten()
        .map(|first| LoopOutcomes { first, rest: Vec::new(), is_single_thread: true })
        .collect()
}

/// Groups items by the loop that their outcome belongs to, in order of their first items; no group is empty.
pub(crate) fn group_by_loop<'a, Item>(
    items: impl Iterator<Item = Item>,
    outcome: impl Fn(&Item) -> &'a Outcome,
) -> Vec<Vec<Item>> {
    let mut found: Vec<(Condition, Vec<Item>)> = Vec::new();
    for item in items {
        let circumstances = circumstances(outcome(&item));
        match found.iter_mut().find(|(earlier, _)| *earlier == circumstances) {
            Some((_, items)) => items.push(item),
            None => found.push((circumstances, vec![item])),
        }
    }
    found.into_iter().map(|(_, items)| items).collect()
}

/// What the threads of one loop have in common; the policy is the one in force, as a refused one did not run.
fn circumstances(outcome: &Outcome) -> Condition {
    let policy = outcome.policy_in_force();
    Condition { cpu: None, thread: 0, policy, ..outcome.condition.clone() }
}

impl<'a> LoopOutcomes<'a> {
    /// Its threads, in the order of the recording; at least one.
    pub fn outcomes(&self) -> impl Iterator<Item = &'a Outcome> {
        std::iter::once(self.first).chain(self.rest.iter().copied())
    }

    /// One of its threads, for what all of them have in common.
    pub const fn first(&self) -> &'a Outcome {
        self.first
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        1 + self.rest.len()
    }

    /// Latencies of all planned wake-ups.
    pub fn planned(&self) -> Distribution {
        self.sum(|outcome| outcome.planned().into_owned())
    }

    /// Latencies of the wake-ups that happened.
    pub fn happened(&self) -> Distribution {
        self.sum(|outcome| outcome.latency().clone())
    }

    fn sum(&self, latencies: impl Fn(&Outcome) -> Distribution) -> Distribution {
        let mut sum = latencies(self.first);
        sum.open();
        self.rest.iter().for_each(|outcome| sum.merge(&latencies(outcome)));
        sum
    }

    /// Number of missed periods.
    pub fn missed(&self) -> u64 {
        self.outcomes().map(Outcome::missed_periods).sum()
    }

    /// The thread with the largest latency; `None` if there is only one thread.
    pub fn latest(&self) -> Option<&'a Outcome> {
        let late = |outcome: &&Outcome| outcome.planned().max();
        self.outcomes().max_by_key(late).filter(|_| !self.rest.is_empty())
    }

    /// Why the wake-ups of all its threads were late, like [`Outcome::why_late`] for one. `None` if none was traced.
    pub fn why_late(&self, above: Option<Span>) -> Option<Why> {
        let mut traces = self.outcomes().filter_map(|outcome| outcome.traces.as_deref());
        let mut sum = traces.next()?.clone();
        traces.for_each(|more: &Traces| sum.ledger.merge(&more.ledger));
        // The probe effect is known per thread only: turns of different threads are no pairs.
        Some(sum.why(above.or(self.first.late_above()), &[]))
    }
}

impl HasProperties for LoopOutcomes<'_> {
    fn value(&self, property: Property) -> Option<PropertyValue<'_>> {
        match property {
            Property::Cpu if self.is_single_thread => self.first.value(property),
            Property::Thread if self.is_single_thread && self.first.condition.cpu.is_none() => {
                self.first.value(property)
            }
            Property::Cpu | Property::Thread => None,
            other => self.first.value(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::{CauseBlock, Latency, Ledger, Line, MonotonicTime, Wait, WakeupBreakdown, Work};

    use super::*;
    use crate::testing::{analysis_of, block_of};

    /// A loop of 1 ms on two CPUs, ordinary and under a load.
    fn two_loops() -> Analysis {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let mut header = analysis_of(&[work; 4]).header;
        for (index, condition) in (0..).zip(&mut header.conditions) {
            (condition.cpu, condition.thread) = (Some(index % 2), index % 2);
            if index > 1 {
                condition.load = howlate_model::Load::cpu();
            }
        }
        Analysis::new(header)
    }

    #[test]
    fn the_threads_of_a_loop_are_one() {
        let mut analysis = two_loops();
        for (condition, late) in (0..).zip([3_000, 5_000, 90_000, 70_000]) {
            analysis.add(&block_of(condition, 0, late));
        }
        let [idle, busy] = per_loop(&analysis).try_into().unwrap();
        assert_eq!((idle.threads(), idle.planned().count(), idle.happened().count()), (2, 40, 40));
        assert_eq!([&idle, &busy].map(|threads| threads.latest().unwrap().condition.cpu), [Some(1), Some(0)]);
        assert_eq!(idle.value(Property::Cpu), None);
    }

    #[test]
    fn one_wake_up_makes_a_thread_the_latest() {
        let mut analysis = two_loops();
        analysis.add(&block_of(0, 0, 3_000));
        analysis.add(&block_of(0, 1, 90_000));
        analysis.add(&block_of(1, 0, 50_000));
        analysis.add(&block_of(1, 1, 50_000));
        assert_eq!(per_loop(&analysis)[0].latest().unwrap().condition.cpu, Some(0));
    }

    #[test]
    fn one_thread_is_not_the_latest_of_several() {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let analysis = analysis_of(&[work]);
        assert!(per_loop(&analysis)[0].latest().is_none());
    }

    #[test]
    fn one_by_one_they_are_told_apart_by_their_cpu() {
        let analysis = two_loops();
        let all = per_thread(&analysis);
        let cpu = |thread: &LoopOutcomes<'_>| Property::Cpu.text(thread);
        assert_eq!(all.iter().map(cpu).collect::<Vec<_>>(), ["0", "1", "0", "1"]);
        assert!(all.iter().all(|thread| thread.threads() == 1 && thread.value(Property::Thread).is_none()));
    }

    #[test]
    fn causes_are_added_up_over_the_threads() {
        let mut analysis = two_loops();
        for condition in 0..2 {
            let at = MonotonicTime::default();
            let wakeup =
                WakeupBreakdown { at, latency: Latency::from_nanos(900), cpu: None, parts: Vec::new() };
            let mut ledger = Ledger::default();
            ledger.add(&wakeup);
            let (from, until, tracer) = (at, at, "bpf".to_owned());
            let block = CauseBlock { condition, round: 1, beside: 0, from, until, tracer, ledger };
            analysis.add(&Line::Why(Box::new(block)));
        }
        let loops = per_loop(&analysis);
        assert_eq!(loops[0].why_late(None).unwrap().decomposed, 2);
        assert!(loops[1].why_late(None).is_none(), "it was not traced");
    }
}
