//! Turns that are traced, beside those that are not.

use howlate_model::{Caveat, Condition, Notifier, Sleeper, Span, Turn, UntraceableReason, Wait, Work};

use crate::Plan;

impl Plan {
    /// Adds to every turn whose threads sleep one that is like it and is to be traced, before or after it as the
    /// seed decides. Those have rounds of their own, from the number on that is returned: that much more than the round
    /// beside it. Why others cannot be traced is left in `left_out`. `None` where there is no such turn.
    pub fn add_traced(&mut self, seed: u64) -> Option<u32> {
        self.add_traced_of(seed, |_| true)
    }

    /// The same beside turns of these conditions alone.
    pub fn add_traced_of(&mut self, seed: u64, is_wanted: impl Fn(&Condition) -> bool) -> Option<u32> {
        let rounds =
            self.turns.iter().flat_map(|turn| &turn.tasks).map(|task| task.round + 1).max().unwrap_or(0);
        let mut random = fastrand::Rng::with_seed(seed);
        let mut any = false;
        for turn in std::mem::take(&mut self.turns) {
            let mut conditions =
                turn.tasks.iter().filter_map(|task| self.conditions.get(task.condition as usize));
            if !conditions.any(&is_wanted) {
                self.turns.push(turn);
                continue;
            }
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

/// Of how many turns, or of how much of one, one is traced where nobody asked for it.
const PART: u32 = 10;
/// Shorter runs are over before a tracer is worth its start.
const LEAST: Span = Span::from_secs(10);

impl Plan {
    /// Adds what a run of ten seconds or more traces without being asked, so that its result can name who made it late:
    /// after one of ten turns of each condition, drawn by the seed, one that is like it and is to be traced. It comes after, so
    /// that whoever ends a run early has numbers. Where a condition has fewer turns, the traced one is as much shorter.
    /// What the numbers are of is left as it is. Returns the number from which on rounds are traced, as
    /// [`add_traced`](Self::add_traced) does; `None` where nothing is added.
    pub fn add_traced_part(&mut self, seed: u64) -> Option<u32> {
        if self.estimate() < LEAST {
            return None;
        }
        let rounds =
            self.turns.iter().flat_map(|turn| &turn.tasks).map(|task| task.round + 1).max().unwrap_or(0);
        // Every tenth, from a different one on in each run; all conditions take their turns in the same rounds.
        let first = fastrand::Rng::with_seed(seed).u32(..rounds.clamp(1, PART));
        let is_drawn = |turn: &Turn| {
            turn.tasks.first().is_some_and(|task| task.round % PART == first)
                && cannot_be_traced(turn).is_none()
        };
        // Turns of one in `PART` rounds are a tenth where there are ten.
        let of_ten = PART.min(rounds.max(1));
        let mut any = false;
        for turn in std::mem::take(&mut self.turns) {
            if !is_drawn(&turn) {
                self.turns.push(turn);
                continue;
            }
            any = true;
            let traced = shortened(as_traced(&turn, rounds), of_ten, PART);
            self.turns.extend([turn, traced]);
        }
        any.then_some(rounds)
    }
}

/// A turn of `part` in `whole` of the length: of the wake-ups where these are counted, of the time.
fn shortened(mut turn: Turn, part: u32, whole: u32) -> Turn {
    let (part, whole) = (u64::from(part), u64::from(whole));
    let share = |span: Span| Span::from_nanos(span.as_nanos() / whole * part);
    for task in &mut turn.tasks {
        task.samples = task.samples.map(|samples| (samples * part).div_ceil(whole));
    }
    turn.duration = turn.duration.map(share);
    turn.estimate = share(turn.estimate);
    turn
}

/// What is to be said of a turn whose wake-ups cannot be followed; `None` of one whose can.
fn cannot_be_traced(turn: &Turn) -> Option<Caveat> {
    turn.tasks.iter().find_map(|task| {
        let reason = why_not(&task.work)?.into();
        Some(Caveat::NotTraced { mechanism: task.work.mechanism().to_string(), reason })
    })
}

/// Why work has no wake-ups that a tracer can follow.
fn why_not(work: &Work) -> Option<UntraceableReason> {
    match work {
        Work::Cyclic { mechanism, .. } | Work::Sleep { mechanism: Sleeper::Wait(mechanism), .. } => {
            thread_spins(*mechanism)
        }
        Work::Sleep { mechanism: Sleeper::Runtime(runtime), .. } => {
            (!runtime.sleeps_in_first_thread()).then_some(UntraceableReason::RuntimeDecides)
        }
        Work::Watch { .. } => Some(UntraceableReason::NotStarted),
        Work::Foreign { .. } => Some(UntraceableReason::OfAnother),
        Work::Notify { round_trip: true, .. } => Some(UntraceableReason::RoundTrip),
        Work::Notify { mechanism, .. } => receiver_spins(*mechanism),
    }
}

fn thread_spins(wait: Wait) -> Option<UntraceableReason> {
    match wait {
        Wait::BusyWait => Some(UntraceableReason::NeverSleeps),
        Wait::SleepThenSpin => Some(UntraceableReason::AwakeAlready),
        _ => None,
    }
}

fn receiver_spins(notifier: Notifier) -> Option<UntraceableReason> {
    notifier.burns_cpu().then_some(UntraceableReason::ReceiverNeverSleeps)
}

fn pair(turn: Turn, rounds: u32, traced_first: bool) -> [Turn; 2] {
    let traced = as_traced(&turn, rounds);
    if traced_first { [traced, turn] } else { [turn, traced] }
}

/// The same in a round that is traced.
fn as_traced(turn: &Turn, rounds: u32) -> Turn {
    let mut traced = turn.clone();
    for task in &mut traced.tasks {
        task.round += rounds;
        task.keep_series = false;
    }
    traced
}

#[cfg(test)]
mod tests {
    use howlate_model::{Peers, ReceiverCpu, Runtime, Span};

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
    fn of_some_conditions_alone_turns_have_a_traced_one_beside_them() {
        let mut plan = choices().plan(&machine()).unwrap();
        let millisecond = Span::from_millis(1);
        let is_short = |condition: &Condition| matches!(condition.work, Work::Cyclic { period_ns, .. } if period_ns == millisecond);
        assert_eq!(plan.add_traced_of(3, is_short), Some(4));
        assert_eq!(plan.turns.len(), 12);
        let traced = plan.turns.iter().flat_map(|turn| &turn.tasks).filter(|task| task.round >= 4);
        assert!(
            traced.clone().count() == 8
                && traced.clone().all(|task| is_short(&plan.conditions[task.condition as usize]))
        );
    }

    /// How long the turns of each condition last, those that are numbers and those that are traced.
    fn time_of(plan: &Plan, from_round: u32, condition: u32) -> (Span, Span) {
        let of = |is_traced: bool| {
            let turns = plan.turns.iter().filter(|turn| {
                let task = &turn.tasks[0];
                task.condition == condition && (task.round >= from_round) == is_traced
            });
            turns.fold(Span::ZERO, |sum, turn| sum.plus(turn.duration.unwrap()))
        };
        (of(false), of(true))
    }

    #[test]
    fn a_tenth_of_a_long_run_is_traced_and_its_numbers_are_those_of_the_same_turns() {
        for rounds in [1, 3, 10, 20, 25] {
            let choices = CyclicChoices {
                samples: None,
                duration: Some(Span::from_secs(30)),
                rounds: Some(rounds),
                ..choices()
            };
            let plain = choices.plan(&machine()).unwrap();
            let mut plan = plain.clone();
            assert_eq!(plan.add_traced_part(5), Some(rounds));
            let untraced: Vec<&Turn> =
                plan.turns.iter().filter(|turn| turn.tasks[0].round < rounds).collect();
            assert_eq!(untraced, plain.turns.iter().collect::<Vec<_>>(), "{rounds}");
            assert!(plan.turns[0].tasks[0].round < rounds, "numbers come first");
            for condition in [0, 2] {
                let (numbers, traced) = time_of(&plan, rounds, condition);
                let share = traced.as_nanos() as f64 / numbers.as_nanos() as f64;
                assert!((0.05..=0.15).contains(&share), "{rounds} rounds: {share}");
            }
        }
        let mut short = choices().plan(&machine()).unwrap();
        let before = short.clone();
        assert_eq!((short.add_traced_part(5), &short), (None, &before), "less than ten seconds");
    }

    #[test]
    fn what_does_not_sleep_is_not_traced() {
        let choices = CyclicChoices { mechanisms: vec![Wait::BusyWait], ..choices() };
        let mut plan = choices.plan(&machine()).unwrap();
        let before = plan.turns.clone();
        assert_eq!(plan.add_traced(3), None);
        assert_eq!(plan.turns, before);
        let said = [Caveat::NotTraced {
            mechanism: "busy_wait".into(),
            reason: UntraceableReason::NeverSleeps.into(),
        }];
        assert_eq!(plan.left_out, said, "once");
    }

    #[test]
    fn what_is_woken_or_sleeps_by_itself_is_traced() {
        let notify = |mechanism, round_trip| Work::Notify {
            mechanism,
            after_ns: Span::from_millis(1),
            between: Peers::Processes,
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
