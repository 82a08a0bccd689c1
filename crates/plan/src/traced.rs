//! Turns that are traced, beside those that are not.

use howlate_model::{Turn, Wait};

use crate::Plan;

impl Plan {
    /// Adds to every turn whose threads sleep here one that is like it and is to be traced, before or after it as the
    /// seed decides. Those have rounds of their own, from the number on that is returned: that much more than the round
    /// beside it. `None` where there is no such turn.
    pub fn add_traced(&mut self, seed: u64) -> Option<u32> {
        if !self.turns.iter().any(can_be_traced) {
            return None;
        }
        let rounds =
            self.turns.iter().flat_map(|turn| &turn.tasks).map(|task| task.round + 1).max().unwrap_or(0);
        let mut random = fastrand::Rng::with_seed(seed);
        let turns = std::mem::take(&mut self.turns);
        for turn in turns {
            if can_be_traced(&turn) {
                self.turns.extend(pair(turn, rounds, random.bool()));
            } else {
                self.turns.push(turn);
            }
        }
        Some(rounds)
    }
}

/// Threads of howlate that wait for a time in the kernel. Programs of their own and messages are not followed yet.
fn can_be_traced(turn: &Turn) -> bool {
    let sleeps = |wait| !matches!(wait, Wait::BusyWait | Wait::SleepThenSpin);
    turn.tasks.iter().all(|task| task.work.wait().is_some_and(sleeps))
}

fn pair(turn: Turn, rounds: u32, traced_first: bool) -> [Turn; 2] {
    let mut traced = turn.clone();
    for task in &mut traced.tasks {
        task.round += rounds;
        task.keep_series = false;
    }
    if traced_first { [traced, turn] } else { [turn, traced] }
}

#[cfg(test)]
mod tests {
    use howlate_model::{Span, Wait};

    use crate::testing::{circumstances, machine};
    use crate::{CyclicChoices, Threads};

    fn choices() -> CyclicChoices {
        CyclicChoices {
            periods: vec![Span::from_millis(1), Span::from_millis(2)],
            threads: Threads::Count(2),
            samples: Some(40),
            rounds: Some(4),
            ..CyclicChoices::of_one_thread(circumstances())
        }
    }

    #[test]
    fn every_turn_has_a_traced_one_beside_it() {
        let plain = choices().plan(&machine()).unwrap();
        let mut plan = plain.clone();
        assert_eq!(plan.add_traced(3), Some(4));
        assert_eq!(plan.turns.len(), 16);
        let mut traced_first = 0;
        for (pair, before) in plan.turns.chunks(2).zip(&plain.turns) {
            let (one, other) = (&pair[0].tasks[1], &pair[1].tasks[1]);
            assert_eq!((one.condition, one.round.abs_diff(other.round)), (other.condition, 4));
            assert!(pair.contains(before));
            traced_first += u32::from(one.round > other.round);
        }
        assert!((1..8).contains(&traced_first), "the order is drawn");
    }

    #[test]
    fn what_does_not_sleep_is_not_traced() {
        let choices = CyclicChoices { mechanisms: vec![Wait::BusyWait], ..choices() };
        let mut plan = choices.plan(&machine()).unwrap();
        let before = plan.clone();
        assert_eq!(plan.add_traced(3), None);
        assert_eq!(plan, before);
    }
}
