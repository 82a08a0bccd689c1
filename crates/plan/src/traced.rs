//! Turns that are traced, beside those that are not.

use howlate_model::{Caveat, NotTraced, Notifier, Sleeper, Turn, Wait, Work};

use crate::Plan;

impl Plan {
    /// Adds to every turn whose threads sleep one that is like it and is to be traced, before or after it as the
    /// seed decides. Those have rounds of their own, from the number on that is returned: that much more than the round
    /// beside it. Why others cannot be traced is left in `left_out`. `None` where there is no such turn.
    pub fn add_traced(&mut self, seed: u64) -> Option<u32> {
        let rounds =
            self.turns.iter().flat_map(|turn| &turn.tasks).map(|task| task.round + 1).max().unwrap_or(0);
        let mut random = fastrand::Rng::with_seed(seed);
        let mut any = false;
        for turn in std::mem::take(&mut self.turns) {
            match cannot_be_traced(&turn) {
                None => {
                    any = true;
                    self.turns.extend(pair(turn, rounds, random.bool()));
                }
                Some(caveat) => {
                    self.turns.push(turn);
                    if !self.left_out.contains(&caveat) {
                        self.left_out.push(caveat);
                    }
                }
            }
        }
        any.then_some(rounds)
    }
}

/// What is to be said of a turn whose wake-ups cannot be followed; `None` of one whose can.
fn cannot_be_traced(turn: &Turn) -> Option<Caveat> {
    turn.tasks.iter().find_map(|task| {
        let reason = why_not(&task.work)?.into();
        Some(Caveat::NotTraced { mechanism: task.work.mechanism().to_string(), reason })
    })
}

/// Why work has no wake-ups that a tracer can follow.
fn why_not(work: &Work) -> Option<NotTraced> {
    match work {
        Work::Cyclic { mechanism, .. } | Work::Sleep { mechanism: Sleeper::Wait(mechanism), .. } => {
            thread_spins(*mechanism)
        }
        Work::Sleep { mechanism: Sleeper::Runtime(runtime), .. } => {
            (!runtime.sleeps_in_first_thread()).then_some(NotTraced::RuntimeDecides)
        }
        Work::Watch { .. } => Some(NotTraced::NotStarted),
        Work::Foreign { .. } => Some(NotTraced::OfAnother),
        Work::Notify { round_trip: true, .. } => Some(NotTraced::RoundTrip),
        Work::Notify { mechanism, .. } => receiver_spins(*mechanism),
    }
}

fn thread_spins(wait: Wait) -> Option<NotTraced> {
    match wait {
        Wait::BusyWait => Some(NotTraced::NeverSleeps),
        Wait::SleepThenSpin => Some(NotTraced::AwakeAlready),
        _ => None,
    }
}

fn receiver_spins(notifier: Notifier) -> Option<NotTraced> {
    notifier.burns_cpu().then_some(NotTraced::ReceiverNeverSleeps)
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
    use howlate_model::{Between, ReceiverCpu, Runtime, Span};

    use super::*;
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
        let before = plan.turns.clone();
        assert_eq!(plan.add_traced(3), None);
        assert_eq!(plan.turns, before);
        let said =
            [Caveat::NotTraced { mechanism: "busy_wait".into(), reason: NotTraced::NeverSleeps.into() }];
        assert_eq!(plan.left_out, said, "once");
    }

    #[test]
    fn what_is_woken_or_sleeps_by_itself_is_traced() {
        let notify = |mechanism, round_trip| Work::Notify {
            mechanism,
            after_ns: Span::from_millis(1),
            between: Between::Processes,
            sender_cpu: None,
            placement: None,
            receiver: ReceiverCpu::AsLeft,
            round_trip,
        };
        let call = |runtime| {
            let target_ns = Span::from_millis(1);
            Work::Sleep { mechanism: Sleeper::Runtime(runtime), target_ns }
        };
        for (work, is_traced) in [
            (notify(Notifier::Pipe, false), true),
            (notify(Notifier::Pipe, true), false),
            (notify(Notifier::BusyWait, false), false),
            (notify(Notifier::SchedYield, false), false),
            (call(Runtime::Python), true),
            (call(Runtime::Node), true),
            (call(Runtime::Go), false),
            (call(Runtime::Shell), false),
        ] {
            assert_eq!(why_not(&work).is_none(), is_traced, "{work:?}");
        }
    }
}
