//! The threads of one loop on all its CPUs, taken together.
//!
//! `cyclic` measures a thread on each CPU; people ask how late their loop is. What differs in nothing but the thread and its
//! CPU is one loop.

use howlate_model::{Condition, Distribution, HasProperties, Property, PropertyValue, Span};

use crate::cause::{Traces, Why};
use crate::{Analysis, Outcome};

/// Threads that differ in nothing but their number and their CPU.
#[derive(Clone, Debug)]
pub struct Together<'a> {
    first: &'a Outcome,
    others: Vec<&'a Outcome>,
    /// It stands for one thread of its loop, told apart by its CPU, or where it has none by its number.
    is_alone: bool,
}

/// The loops of a recording, in its order.
pub fn together(analysis: &Analysis) -> Vec<Together<'_>> {
    let one = |mut outcomes: Vec<_>| {
        let others = outcomes.split_off(1);
        outcomes.pop().map(|first| Together { first, others, is_alone: false })
    };
    by_loop(analysis.outcomes().iter(), |outcome| outcome).into_iter().filter_map(one).collect()
}

/// The threads of a recording, each by itself, those of a loop one after the other.
pub fn one_by_one(analysis: &Analysis) -> Vec<Together<'_>> {
    let loops = by_loop(analysis.outcomes().iter(), |outcome| outcome);
    loops.into_iter().flatten().map(|first| Together { first, others: Vec::new(), is_alone: true }).collect()
}

/// What is of threads of one loop together, in the order in which it came; none is empty.
pub(crate) fn by_loop<'a, Item>(
    items: impl Iterator<Item = Item>,
    outcome: impl Fn(&Item) -> &'a Outcome,
) -> Vec<Vec<Item>> {
    let mut found: Vec<(Condition, Vec<Item>)> = Vec::new();
    for item in items {
        let circumstances = circumstances(outcome(&item));
        match found.iter_mut().find(|(known, _)| *known == circumstances) {
            Some((_, items)) => items.push(item),
            None => found.push((circumstances, vec![item])),
        }
    }
    found.into_iter().map(|(_, items)| items).collect()
}

/// What the threads of one loop have in common. What was refused ran as something else.
fn circumstances(outcome: &Outcome) -> Condition {
    let policy = outcome.policy_in_force();
    Condition { cpu: None, thread: 0, policy, ..outcome.condition.clone() }
}

impl<'a> Together<'a> {
    /// Its threads, in the order of the recording; there is one at least.
    pub fn outcomes(&self) -> impl Iterator<Item = &'a Outcome> {
        std::iter::once(self.first).chain(self.others.iter().copied())
    }

    /// One of its threads, for what all of them have in common.
    pub const fn first(&self) -> &'a Outcome {
        self.first
    }

    /// How many threads there are.
    pub fn threads(&self) -> usize {
        1 + self.others.len()
    }

    /// The latencies of every planned wake-up.
    pub fn planned(&self) -> Distribution {
        self.sum(|outcome| outcome.planned().into_owned())
    }

    /// The latencies of the wake-ups that happened.
    pub fn happened(&self) -> Distribution {
        self.sum(|outcome| outcome.latency().clone())
    }

    fn sum(&self, of: impl Fn(&Outcome) -> Distribution) -> Distribution {
        let mut sum = of(self.first);
        sum.open();
        self.others.iter().for_each(|outcome| sum.merge(&of(outcome)));
        sum
    }

    /// Periods that were missed.
    pub fn missed(&self) -> u64 {
        self.outcomes().map(Outcome::missed_periods).sum()
    }

    /// The thread that had the latest of all wake-ups. `None` where there is nothing to choose from.
    pub fn latest(&self) -> Option<&'a Outcome> {
        let late = |outcome: &&Outcome| outcome.planned().max();
        self.outcomes().max_by_key(late).filter(|_| !self.others.is_empty())
    }

    /// Why the wake-ups of all its threads were late, as [`Outcome::why_late`] tells it of one. `None` where none was traced.
    pub fn why_late(&self, above: Option<Span>) -> Option<Why> {
        let mut traces = self.outcomes().filter_map(|outcome| outcome.traces.as_deref());
        let mut sum = traces.next()?.clone();
        traces.for_each(|more: &Traces| sum.ledger.merge(&more.ledger));
        // What tracing adds is told thread by thread: their turns are not one another's pairs.
        Some(sum.why(above.or(self.first.late_above()), &[]))
    }
}

impl HasProperties for Together<'_> {
    fn value(&self, property: Property) -> Option<PropertyValue<'_>> {
        match property {
            Property::Cpu if self.is_alone => self.first.value(property),
            Property::Thread if self.is_alone && self.first.condition.cpu.is_none() => {
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
        let [idle, busy] = together(&analysis).try_into().unwrap();
        assert_eq!((idle.threads(), idle.planned().count(), idle.happened().count()), (2, 40, 40));
        assert_eq!([&idle, &busy].map(|one| one.latest().unwrap().condition.cpu), [Some(1), Some(0)]);
        assert_eq!(idle.value(Property::Cpu), None);
    }

    #[test]
    fn one_wake_up_makes_a_thread_the_latest() {
        let mut analysis = two_loops();
        analysis.add(&block_of(0, 0, 3_000));
        analysis.add(&block_of(0, 1, 90_000));
        analysis.add(&block_of(1, 0, 50_000));
        analysis.add(&block_of(1, 1, 50_000));
        assert_eq!(together(&analysis)[0].latest().unwrap().condition.cpu, Some(0));
    }

    #[test]
    fn one_thread_is_not_the_latest_of_several() {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let analysis = analysis_of(&[work]);
        assert!(together(&analysis)[0].latest().is_none());
    }

    #[test]
    fn one_by_one_they_are_told_apart_by_their_cpu() {
        let analysis = two_loops();
        let all = one_by_one(&analysis);
        let cpu = |one: &Together<'_>| Property::Cpu.typed(one);
        assert_eq!(all.iter().map(cpu).collect::<Vec<_>>(), ["0", "1", "0", "1"]);
        assert!(all.iter().all(|one| one.threads() == 1 && one.value(Property::Thread).is_none()));
    }

    #[test]
    fn causes_are_added_up_over_the_threads() {
        let mut analysis = two_loops();
        for condition in 0..2 {
            let at = MonotonicTime::default();
            let one = WakeupBreakdown { at, latency: Latency::from_nanos(900), cpu: None, parts: Vec::new() };
            let mut ledger = Ledger::default();
            ledger.add(&one);
            let (from, until, tracer) = (at, at, "bpf".to_owned());
            let block = CauseBlock { condition, round: 1, beside: 0, from, until, tracer, ledger };
            analysis.add(&Line::Why(Box::new(block)));
        }
        let loops = together(&analysis);
        assert_eq!(loops[0].why_late(None).unwrap().decomposed, 2);
        assert!(loops[1].why_late(None).is_none(), "it was not traced");
    }
}
