//! A condition and its variants with changed settings, for `howlate tune`.

use std::ops::Range;

use howlate_model::{Condition, Task, Turn};

use crate::{Plan, order};

/// Turns of a baseline condition, or of concurrent threads, and of variants with changed settings.
#[derive(Clone, Debug)]
pub struct Trials {
    /// Conditions of all variants, one after the other.
    conditions: Vec<Condition>,
    /// The baseline's turn, the template for the others.
    turn: Turn,
    /// Conditions of each variant.
    width: usize,
    seed: u64,
}

/// The plan has more than one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "settings are tried on one condition, and this makes {found}; choose one of each, such as one length, one call, one policy and one load"
)]
pub struct SeveralConditions {
    pub found: usize,
}

impl Trials {
    /// From a plan with a single turn.
    ///
    /// # Errors
    ///
    /// If it has several.
    pub fn from_plan(plan: Plan, seed: u64) -> Result<Self, SeveralConditions> {
        let found = plan.turns.len();
        let turn = plan.turns.into_iter().next().filter(|_| found == 1).ok_or(SeveralConditions { found })?;
        Ok(Self { width: plan.conditions.len(), conditions: plan.conditions, turn, seed })
    }

    /// The conditions of the baseline, one per thread.
    pub fn base(&self) -> &[Condition] {
        &self.conditions[..self.width]
    }

    /// The conditions of all variants.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// The turn of the baseline.
    pub const fn turn(&self) -> &Turn {
        &self.turn
    }

    /// Adds a variant and returns its number; the baseline is 0. `None`, and nothing is added, if `alter` returns `None` for any of the
    /// baseline's conditions.
    pub fn add(&mut self, alter: impl Fn(&Condition) -> Option<Condition>) -> Option<usize> {
        let variant: Vec<Condition> = self.base().iter().map(alter).collect::<Option<_>>()?;
        self.conditions.extend(variant);
        Some(self.conditions.len() / self.width - 1)
    }

    /// The indices of a variant's conditions.
    pub const fn indices(&self, variant: usize) -> Range<usize> {
        variant * self.width..(variant + 1) * self.width
    }

    /// One turn of each variant in every round, in random order within it.
    pub fn turns(&self, variants: &[usize], rounds: Range<u32>) -> Vec<Turn> {
        let seed = self.seed.wrapping_add(u64::from(rounds.start));
        let order = order::interleaved(variants.len(), rounds.end - rounds.start, seed);
        let turn = |(place, round): (usize, u32)| self.turn_of(variants[place], rounds.start + round);
        order.into_iter().map(turn).collect()
    }

    fn turn_of(&self, variant: usize, round: u32) -> Turn {
        let first = self.indices(variant).start;
        let task = |task: &Task| {
            let number = first + task.condition as usize;
            let altered = Task::from_condition(number, &self.conditions[number]);
            Task {
                round,
                samples: task.samples,
                warm_up: task.warm_up,
                phase: task.phase,
                keep_series: false,
                ..altered
            }
        };
        Turn { tasks: self.turn.tasks.iter().map(task).collect(), ..self.turn.clone() }
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::{Span, TunedKnobs};

    use super::*;
    use crate::testing::{circumstances, machine};
    use crate::{CyclicChoices, RequestedExtent, ThreadSpec};

    fn choices(periods: &[u64]) -> CyclicChoices {
        CyclicChoices {
            periods: periods.iter().map(|millis| Span::from_millis(*millis)).collect(),
            threads: ThreadSpec::Count(2),
            extent: RequestedExtent { samples: Some(100), rounds: Some(1), ..RequestedExtent::default() },
            ..CyclicChoices::single_thread(circumstances())
        }
    }

    fn slice(condition: &Condition) -> Option<Condition> {
        let tuned = TunedKnobs {
            knobs: vec!["slice".into()],
            slice: Some(Span::from_micros(100)),
            ..TunedKnobs::default()
        };
        Some(Condition { tuned: Some(tuned), slack_ns: Some(Span::from_nanos(1)), ..condition.clone() })
    }

    #[test]
    fn every_round_has_each_variant_once_with_its_settings() {
        let mut trials = Trials::from_plan(choices(&[1]).plan(&machine()).unwrap(), 3).unwrap();
        assert_eq!(trials.add(|_| None), None);
        assert_eq!((trials.add(|condition| Some(condition.clone())), trials.add(slice)), (Some(1), Some(2)));
        let turns = trials.turns(&[0, 2], 5..8);
        assert_eq!(turns.len(), 6);
        for pair in turns.chunks(2) {
            let mut firsts: Vec<u32> = pair.iter().map(|turn| turn.tasks[0].condition).collect();
            firsts.sort_unstable();
            assert_eq!(firsts, [0, 4]);
            assert_eq!(pair[0].tasks[1].round, pair[1].tasks[0].round);
        }
        let altered = turns.iter().flat_map(|turn| &turn.tasks).filter(|task| task.condition > 1);
        assert!(
            altered
                .clone()
                .all(|task| task.slice == Some(Span::from_micros(100)) && task.samples == Some(100))
        );
        assert_eq!(altered.count(), 6);
        assert_eq!(trials.conditions()[trials.indices(2)].len(), 2);
    }

    #[test]
    fn more_than_one_condition_is_refused() {
        let two = choices(&[1, 2]).plan(&machine()).unwrap();
        assert_eq!(Trials::from_plan(two, 3).unwrap_err(), SeveralConditions { found: 2 });
    }
}
