//! Traced turns beside untraced ones.

use howlate_model::{Caveat, Condition, Notifier, Sleeper, Span, Turn, UntraceableReason, Wait, Work};

use crate::Plan;

impl Plan {
    /// Adds a traced copy of every traceable turn, before or after it by the seed. The copy's round is that of the original plus the
    /// returned number. Reasons why other turns cannot be traced are added to `left_out`. `None` if no turn is traceable.
    pub fn add_traced(&mut self, seed: u64) -> Option<u32> {
        self.add_traced_for(seed, |_| true)
    }

    /// Like [`add_traced`](Self::add_traced), only for turns of selected conditions.
    pub fn add_traced_for(&mut self, seed: u64, is_selected: impl Fn(&Condition) -> bool) -> Option<u32> {
        let rounds =
            self.turns.iter().flat_map(|turn| &turn.tasks).map(|task| task.round + 1).max().unwrap_or(0);
        let mut random = fastrand::Rng::with_seed(seed);
        let mut any = false;
        for turn in std::mem::take(&mut self.turns) {
            let mut conditions =
                turn.tasks.iter().filter_map(|task| self.conditions.get(task.condition as usize));
            if !conditions.any(&is_selected) {
                self.turns.push(turn);
                continue;
            }
            match untraceable_caveat(&turn) {
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

/// One in this many turns, or this fraction of a turn, is traced by default.
const DEFAULT_FRACTION: u32 = 10;
/// Shorter runs are not traced by default: starting a tracer would not pay off.
const MIN_DURATION: Span = Span::from_secs(10);

impl Plan {
    /// Adds default tracing to a run of ten seconds or more, so that its result can name causes: a traced copy after one of ten turns
    /// of each condition, chosen by the seed. It comes after the original, so that a run that is ended early has results. If a
    /// condition has fewer turns, the copy is shorter in proportion. The untraced turns do not change. Returns the first traced
    /// round, like [`add_traced`](Self::add_traced); `None` if nothing is added.
    pub fn add_traced_part(&mut self, seed: u64) -> Option<u32> {
        if self.estimate() < MIN_DURATION {
            return None;
        }
        let rounds =
            self.turns.iter().flat_map(|turn| &turn.tasks).map(|task| task.round + 1).max().unwrap_or(0);
        // Every tenth round, with a random offset; the same rounds for all conditions.
        let first = fastrand::Rng::with_seed(seed).u32(..rounds.clamp(1, DEFAULT_FRACTION));
        let is_chosen = |turn: &Turn| {
            turn.tasks.first().is_some_and(|task| task.round % DEFAULT_FRACTION == first)
                && untraceable_caveat(turn).is_none()
        };
        // With ten rounds or more, whole turns of every tenth round are a tenth.
        let of_ten = DEFAULT_FRACTION.min(rounds.max(1));
        let mut any = false;
        for turn in std::mem::take(&mut self.turns) {
            if !is_chosen(&turn) {
                self.turns.push(turn);
                continue;
            }
            any = true;
            let traced = shortened(traced_copy(&turn, rounds), of_ten, DEFAULT_FRACTION);
            self.turns.extend([turn, traced]);
        }
        any.then_some(rounds)
    }
}

/// Shortens a turn to `part / whole` of its samples and time.
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

/// Caveat for a turn that cannot be traced; `None` if it can.
fn untraceable_caveat(turn: &Turn) -> Option<Caveat> {
    turn.tasks.iter().find_map(|task| {
        let reason = untraceable_reason(&task.work)?.into();
        Some(Caveat::NotTraced { mechanism: task.work.mechanism().to_string(), reason })
    })
}

/// Why the wake-ups of `work` cannot be traced.
fn untraceable_reason(work: &Work) -> Option<UntraceableReason> {
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
    let traced = traced_copy(&turn, rounds);
    if traced_first { [traced, turn] } else { [turn, traced] }
}

/// A copy of the turn in a traced round.
fn traced_copy(turn: &Turn, rounds: u32) -> Turn {
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
    use crate::{CyclicChoices, RequestedExtent, ThreadSpec};

    fn choices() -> CyclicChoices {
        CyclicChoices {
            periods: vec![Span::from_millis(1), Span::from_millis(2)],
            threads: ThreadSpec::Count(2),
            extent: RequestedExtent { samples: Some(40), rounds: Some(4), ..RequestedExtent::default() },
            ..CyclicChoices::single_thread(circumstances())
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
            let (first, other) = (&pair[0].tasks[1], &pair[1].tasks[1]);
            assert_eq!((first.condition, first.round.abs_diff(other.round)), (other.condition, 4));
            assert!(pair.contains(before));
            traced_first += u32::from(first.round > other.round);
        }
        assert!((1..8).contains(&traced_first), "the order is drawn");
    }

    #[test]
    fn of_some_conditions_alone_turns_have_a_traced_one_beside_them() {
        let mut plan = choices().plan(&machine()).unwrap();
        let millisecond = Span::from_millis(1);
        let is_short = |condition: &Condition| matches!(condition.work, Work::Cyclic { period_ns, .. } if period_ns == millisecond);
        assert_eq!(plan.add_traced_for(3, is_short), Some(4));
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
            let (duration, rounds_of_it) = (Some(Span::from_secs(30)), Some(rounds));
            let extent = RequestedExtent { duration, rounds: rounds_of_it, ..RequestedExtent::default() };
            let choices = CyclicChoices { extent, ..choices() };
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
        let caveats = [Caveat::NotTraced {
            mechanism: "busy_wait".into(),
            reason: UntraceableReason::NeverSleeps.into(),
        }];
        assert_eq!(plan.left_out, caveats, "once");
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
            assert_eq!(untraceable_reason(&work).is_none(), is_traced, "{work:?}");
        }
    }
}
