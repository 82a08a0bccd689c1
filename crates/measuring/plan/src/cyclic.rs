//! Plans for periodic threads.

use std::ops::Range;

use howlate_model::{
    Caveat, Combination, CombinationRefusal, Condition, Load, Policy, Span, Task, Turn, Wait, WaitClock, Work,
};

use crate::single::{limit, share_of_time};
use crate::{
    Circumstances, Machine, Plan, PlanError, check_count, check_extent, check_turns, finished, order, refuse,
};

/// How many threads run side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// So many, one beside the other.
    Count(u32),
    /// One on every CPU, bound to it.
    PerCpu,
}

/// What to choose from for periodic threads.
#[derive(Clone, Debug)]
pub struct CyclicChoices {
    /// Policies, slacks, loads, CPUs, seed.
    pub circumstances: Circumstances,
    /// Ways to wait.
    pub mechanisms: Vec<Wait>,
    /// Clocks to wait on.
    pub clocks: Vec<WaitClock>,
    /// Periods, each a condition of its own.
    pub periods: Vec<Span>,
    /// Threads side by side.
    pub threads: Threads,
    /// Added to the period of each further thread.
    pub distance: Span,
    /// Whether each further thread gets the next lower priority.
    pub staircase: bool,
    /// Whether all threads wake at the same moment, rather than spread over the period.
    pub aligned: bool,
    /// Whether planned times are moved by a random part of half a period.
    pub dithered: bool,
    /// Wake-ups per thread; ends at whichever of this and the duration comes first.
    pub samples: Option<u64>,
    /// Wake-ups that come first in each turn and are not counted; `None`: three, none of long periods.
    pub warm_up: Option<u64>,
    /// Time per condition.
    pub duration: Option<Span>,
    /// Turns per condition; `None`: one, or several when conditions are to be compared.
    pub rounds: Option<u32>,
}

/// Turns per condition when there is more than one. More and shorter turns show more than fewer and longer ones,
/// because what is close in time is alike; half a second of the default time still holds a 99th percentile.
const ROUNDS_TO_COMPARE: u32 = 20;

/// Wake-ups that come first and are not counted.
const WARM_UP: u64 = 3;

/// No warm-up for periods longer than this: it would make people wait for nothing.
const WARM_UP_PERIOD: Span = Span::from_millis(100);

/// One combination of choices: a group of threads.
#[derive(Clone)]
struct Group {
    mechanism: Wait,
    clock: WaitClock,
    period: Span,
    policy: Policy,
    slack: Option<Span>,
    load: Load,
}

impl CyclicChoices {
    /// One thread that wakes every millisecond by `clock_nanosleep`; neither time nor turns are chosen.
    pub fn of_one_thread(circumstances: Circumstances) -> Self {
        Self {
            circumstances,
            mechanisms: vec![Wait::ClockNanosleep],
            clocks: vec![WaitClock::Monotonic],
            periods: vec![Span::from_millis(1)],
            threads: Threads::Count(1),
            distance: Span::ZERO,
            staircase: false,
            aligned: false,
            dithered: false,
            samples: None,
            warm_up: None,
            duration: None,
            rounds: None,
        }
    }

    /// Every combination, in interleaved turns.
    ///
    /// # Errors
    ///
    /// When what was asked for makes no sense, or nothing of it can be measured.
    pub fn plan(&self, machine: &Machine) -> Result<Plan, PlanError> {
        self.check(machine)?;
        self.circumstances.check_product(&[self.mechanisms.len(), self.clocks.len(), self.periods.len()])?;
        let threads = self.thread_cpus(machine);
        let (groups, mut left_out) = self.groups(&threads, machine);
        left_out.extend(self.cpus_not_measured(machine));
        check_count(groups.len() * threads.len())?;
        let conditions: Vec<Condition> =
            groups.iter().flat_map(|group| self.conditions(group, &threads, machine)).collect();
        let rounds = self.rounds(groups.len());
        check_turns(groups.len() * threads.len(), rounds)?;
        let order = order::interleaved(groups.len(), rounds, self.circumstances.seed);
        let turns = order
            .into_iter()
            .map(|(number, round)| {
                let first = number * threads.len();
                self.turn(&groups[number], &conditions, first..first + threads.len(), round, rounds)
            })
            .collect();
        finished(Plan { conditions, turns, left_out })
    }

    fn check(&self, machine: &Machine) -> Result<(), PlanError> {
        self.circumstances.check_cpus(machine)?;
        if self.periods.iter().any(|period| period.is_zero()) {
            return Err(PlanError::PeriodZero);
        }
        check_extent(self.samples, self.duration)?;
        if self.threads == Threads::Count(0) {
            return Err(PlanError::NothingAsked { what: "--threads" });
        }
        Ok(())
    }

    fn rounds(&self, groups: usize) -> u32 {
        self.rounds.unwrap_or(if groups > 1 { ROUNDS_TO_COMPARE } else { 1 }).max(1)
    }

    /// The combinations that can be measured, and those that cannot.
    fn groups(&self, threads: &[Option<u32>], machine: &Machine) -> (Vec<Group>, Vec<Caveat>) {
        let (mut groups, mut left_out) = (Vec::new(), Vec::new());
        let choices = &self.circumstances;
        let calls =
            self.mechanisms.iter().flat_map(|&call| self.clocks.iter().map(move |&clock| (call, clock)));
        for (mechanism, clock) in calls {
            for &period in &self.periods {
                for &policy in &choices.policies {
                    let group = |slack, load| Group { mechanism, clock, period, policy, slack, load };
                    if let Some(reason) = self.refused(&group(None, Load::IDLE), threads, machine) {
                        let condition = Combination::Cyclic { wait: mechanism, period, policy }.into();
                        left_out.push(Caveat::LeftOut { condition, reason: reason.into() });
                        continue;
                    }
                    for &slack in choices.slacks_for(policy) {
                        groups.extend(choices.loads.iter().map(|load| group(slack, load.clone())));
                    }
                }
            }
        }
        (groups, left_out)
    }

    /// One thread per CPU follows the inherited mask, unless CPUs are named.
    fn cpus_not_measured(&self, machine: &Machine) -> Option<Caveat> {
        let follows = self.threads == Threads::PerCpu && self.circumstances.cpus.is_none();
        if follows { machine.cpus_not_measured() } else { None }
    }

    /// Why a group must not, or cannot, be measured: one of its threads, or all together.
    fn refused(
        &self,
        group: &Group,
        threads: &[Option<u32>],
        machine: &Machine,
    ) -> Option<CombinationRefusal> {
        let work = Work::Cyclic { mechanism: group.mechanism, period_ns: group.period };
        let together = || {
            let thread = |(thread, &cpu): (usize, &Option<u32>)| {
                let (work, policy) = self.work(group, thread);
                (work, policy, cpu)
            };
            refuse::reason_together(threads.iter().enumerate().map(thread), machine)
        };
        let alone = || refuse::reason(work, group.policy, self.samples, machine);
        refuse::reason_on_clock(work, group.clock, machine).or_else(alone).or_else(together)
    }

    /// For each thread, the CPU it is bound to.
    fn thread_cpus(&self, machine: &Machine) -> Vec<Option<u32>> {
        let chosen: Vec<u32> = self.circumstances.cpus.iter().flat_map(|cpus| cpus.iter()).collect();
        match self.threads {
            Threads::PerCpu if chosen.is_empty() => machine.allowed.iter().map(Some).collect(),
            Threads::PerCpu => chosen.into_iter().map(Some).collect(),
            Threads::Count(count) if chosen.is_empty() => vec![None; count as usize],
            Threads::Count(count) => chosen.into_iter().cycle().take(count as usize).map(Some).collect(),
        }
    }

    /// What thread number `thread` of a group does.
    fn work(&self, group: &Group, thread: usize) -> (Work, Policy) {
        let step = u32::try_from(thread).unwrap_or(u32::MAX);
        let period_ns = group.period.plus(self.distance.times(u64::from(step)));
        let policy = if self.staircase { group.policy.lowered(step) } else { group.policy };
        (Work::Cyclic { mechanism: group.mechanism, period_ns }, policy)
    }

    fn conditions(&self, group: &Group, threads: &[Option<u32>], machine: &Machine) -> Vec<Condition> {
        let condition = |(thread, &cpu): (usize, &Option<u32>)| {
            let (work, policy) = self.work(group, thread);
            Condition {
                policy,
                clock: group.clock,
                dithered: self.dithered,
                slack_ns: group.slack,
                cpu,
                thread: u32::try_from(thread).unwrap_or(u32::MAX),
                load: group.load.clone(),
                ..Condition::new(work, &machine.kernel)
            }
        };
        threads.iter().enumerate().map(condition).collect()
    }

    /// A turn of those `conditions` that are of `group`, one per thread.
    fn turn(
        &self,
        group: &Group,
        conditions: &[Condition],
        of_group: Range<usize>,
        round: u32,
        rounds: u32,
    ) -> Turn {
        let samples = self.samples.map(|samples| share(samples, round, rounds));
        let (threads, duration) = (of_group.len(), share_of_time(self.duration, rounds));
        let task = |(thread, number): (usize, usize)| {
            let condition = &conditions[number];
            let length = condition.work.length();
            let usual = if length <= WARM_UP_PERIOD { WARM_UP } else { 0 };
            let warm_up = self.warm_up.unwrap_or(usual);
            let phase = self.phase(group.period, thread, threads);
            let samples =
                [samples, duration.map(|time| periods_in(time, length))].into_iter().flatten().min();
            Task { round, samples, warm_up, phase, ..Task::from_condition(number, condition) }
        };
        let tasks: Vec<Task> = of_group.enumerate().map(task).collect();
        let for_samples = tasks.iter().filter_map(needed).max();
        let estimate = [duration, for_samples].into_iter().flatten().min().unwrap_or_default();
        // Threads that others leave no time for would never have their samples.
        let cut_after = if duration.is_none() { for_samples.map(limit) } else { None };
        Turn { tasks, load: group.load.clone(), duration, cut_after, estimate }
    }

    /// Spreads the first wake-ups over the period, so that by default no two fall together.
    fn phase(&self, period: Span, thread: usize, threads: usize) -> Span {
        if self.aligned {
            return period;
        }
        let share = period.as_nanos() as u128 * thread as u128 / threads.max(1) as u128;
        period.plus(Span::from_nanos(u64::try_from(share).unwrap_or_default()))
    }
}

/// Whole periods in a time, at least one.
fn periods_in(time: Span, period: Span) -> u64 {
    (time.as_nanos() / period.as_nanos().max(1)).max(1)
}

fn needed(task: &Task) -> Option<Span> {
    task.samples.map(|samples| task.work.length().times(samples.saturating_add(task.warm_up)))
}

/// The part of `all` that falls to `round` when each of `rounds` gets its equal share.
pub(crate) fn share(all: u64, round: u32, rounds: u32) -> u64 {
    let (round, rounds) = (u64::from(round), u64::from(rounds));
    all / rounds + u64::from(round < all % rounds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{circumstances, machine};

    fn choices() -> CyclicChoices {
        let choices = CyclicChoices::of_one_thread(circumstances());
        CyclicChoices { duration: Some(Span::from_secs(12)), ..choices }
    }

    #[test]
    fn the_staircase_of_the_article_can_be_expressed() {
        let mut choices = choices();
        choices.circumstances.policies = vec!["fifo:99".parse().unwrap()];
        choices.threads = Threads::Count(5);
        choices.distance = Span::from_micros(500);
        choices.staircase = true;
        let plan = choices.plan(&machine()).unwrap();
        let shown: Vec<_> = plan
            .conditions
            .iter()
            .map(|condition| format!("{} {}", condition.policy, condition.work.length()))
            .collect();
        assert_eq!(shown, ["fifo:99 1ms", "fifo:98 1.5ms", "fifo:97 2ms", "fifo:96 2.5ms", "fifo:95 3ms"]);
        assert_eq!(plan.turns.len(), 1);
        assert_eq!(plan.estimate(), Span::from_secs(12));
    }

    #[test]
    fn conditions_to_compare_are_interleaved() {
        let mut choices = choices();
        choices.circumstances.policies = vec![Policy::OTHER, "fifo:80".parse().unwrap()];
        choices.threads = Threads::PerCpu;
        let plan = choices.plan(&machine()).unwrap();
        assert_eq!(plan.conditions.len(), 8);
        assert_eq!(plan.turns.len(), 40);
        assert_eq!(plan.turns[0].duration, Some(Span::from_millis(600)));
        let cpus: Vec<_> = plan.turns[0].tasks.iter().map(|task| task.cpu).collect();
        assert_eq!(cpus, [Some(0), Some(1), Some(2), Some(3)]);
        for task in plan.turns.iter().flat_map(|turn| &turn.tasks) {
            assert_eq!(task.policy, plan.conditions[task.condition as usize].policy);
        }
    }

    #[test]
    fn a_second_at_a_millisecond_is_a_thousand_wake_ups_that_count() {
        let mut choices = choices();
        choices.duration = Some(Span::from_secs(1));
        let plan = choices.plan(&machine()).unwrap();
        let task = &plan.turns[0].tasks[0];
        assert_eq!((task.samples, task.warm_up), (Some(1_000), WARM_UP));
        assert_eq!(plan.turns[0].duration, Some(Span::from_secs(1)));
        choices.samples = Some(10);
        assert_eq!(choices.plan(&machine()).unwrap().turns[0].tasks[0].samples, Some(10));
    }

    #[test]
    fn every_clock_that_is_there_is_a_condition_of_its_own() {
        let mut choices = choices();
        choices.clocks = vec![WaitClock::Monotonic, WaitClock::Tai, WaitClock::Aux(0)];
        let plan = choices.plan(&machine()).unwrap();
        let clocks: Vec<WaitClock> = plan.conditions.iter().map(|condition| condition.clock).collect();
        assert_eq!(clocks, [WaitClock::Monotonic, WaitClock::Tai]);
        assert!(matches!(plan.left_out.as_slice(), [Caveat::LeftOut { .. }]));
        for task in plan.turns.iter().flat_map(|turn| &turn.tasks) {
            assert_eq!(task.clock, plan.conditions[task.condition as usize].clock);
        }
    }

    #[test]
    fn wake_ups_are_spread_unless_aligned() {
        let mut choices = choices();
        choices.threads = Threads::Count(4);
        let phases = |choices: &CyclicChoices| -> Vec<u64> {
            let plan = choices.plan(&machine()).unwrap();
            plan.turns[0].tasks.iter().map(|task| task.phase.as_nanos() / 1_000).collect()
        };
        assert_eq!(phases(&choices), [1_000, 1_250, 1_500, 1_750]);
        choices.aligned = true;
        assert_eq!(phases(&choices), [1_000; 4]);
    }

    #[test]
    fn nonsense_is_an_error_and_the_impossible_is_left_out() {
        let mut wrong = choices();
        wrong.periods = vec![Span::ZERO];
        assert_eq!(wrong.plan(&machine()), Err(PlanError::PeriodZero));
        let mut wrong = choices();
        wrong.circumstances.cpus = Some("2,9".parse().unwrap());
        assert!(matches!(wrong.plan(&machine()), Err(PlanError::NoSuchCpu { cpu: 9, .. })));
        let mut partly = choices();
        partly.mechanisms = vec![Wait::ClockNanosleep, Wait::BusyWait];
        partly.circumstances.policies = vec!["fifo:5".parse().unwrap()];
        let plan = partly.plan(&machine()).unwrap();
        assert_eq!((plan.conditions.len(), plan.left_out.len()), (1, 1));
        partly.mechanisms = vec![Wait::BusyWait];
        assert!(matches!(partly.plan(&machine()), Err(PlanError::NothingLeft(_))));
        let mut many = choices();
        many.periods = (1..=20_000).map(Span::from_micros).collect();
        assert!(matches!(many.plan(&machine()), Err(PlanError::TooMany { asked: 20_000 })));
    }

    #[test]
    fn no_number_is_too_large_to_be_refused_or_estimated() {
        let mut endless = choices();
        (endless.samples, endless.duration) = (Some(u64::MAX), None);
        assert_eq!(endless.plan(&machine()).unwrap().estimate(), Span::from_nanos(u64::MAX));
        let mut many = choices();
        many.periods = (1..=2_000).map(Span::from_micros).collect();
        many.rounds = Some(1_000);
        assert!(matches!(many.plan(&machine()), Err(PlanError::TooManyTurns { .. })));
    }

    #[test]
    fn shares_add_up() {
        for (all, rounds) in [(10, 3), (2, 6), (1_000, 10), (7, 1)] {
            assert_eq!((0..rounds).map(|round| share(all, round, rounds)).sum::<u64>(), all);
        }
    }
}
