//! Plans for periodic threads.

use std::ops::Range;

use howlate_model::{
    Caveat, Combination, CombinationRefusal, Condition, Load, Policy, Span, Task, Turn, Wait, WaitClock, Work,
};

use crate::single::{limit, share_of_time};
use crate::{
    CommonChoices, Plan, PlanError, PlanMachine, RequestedExtent, check_count, check_turns, non_empty, order,
    refuse,
};

/// Number of concurrent threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadSpec {
    /// A fixed number.
    Count(u32),
    /// One bound to each CPU.
    PerCpu,
}

/// Choices for periodic threads.
#[derive(Clone, Debug)]
pub struct CyclicChoices {
    /// Policies, slacks, loads, CPUs, seed.
    pub circumstances: CommonChoices,
    /// Ways to wait.
    pub mechanisms: Vec<Wait>,
    /// Clocks to wait on.
    pub clocks: Vec<WaitClock>,
    pub periods: Vec<Span>,
    /// Concurrent threads.
    pub threads: ThreadSpec,
    /// Added to the period of each further thread.
    pub distance: Span,
    /// Whether each further thread gets the next lower priority.
    pub staircase: bool,
    /// Whether all threads wake at the same moment, rather than spread over the period.
    pub aligned: bool,
    /// Whether planned times are moved by a random part of half a period.
    pub dithered: bool,
    /// Samples are wake-ups per thread: a turn ends at this or its duration, whichever comes first. Warm-up: three, or none for long
    /// periods. One turn for a single condition, otherwise several.
    pub extent: RequestedExtent,
}

/// Turns per condition if there are several conditions. Many short turns are better than few long ones, because the machine
/// drifts; half a second of the default time is still enough for a 99th percentile.
const ROUNDS_TO_COMPARE: u32 = 20;

/// Default number of uncounted wake-ups.
const WARM_UP: u64 = 3;

/// No warm-up for longer periods: it would take too long.
const WARM_UP_PERIOD: Span = Span::from_millis(100);

/// A group of concurrent threads with one combination of choices.
#[derive(Clone)]
struct ThreadGroup {
    mechanism: Wait,
    clock: WaitClock,
    period: Span,
    policy: Policy,
    slack: Option<Span>,
    load: Load,
}

impl CyclicChoices {
    /// One thread that wakes every millisecond by `clock_nanosleep`, without duration and rounds.
    pub fn single_thread(circumstances: CommonChoices) -> Self {
        Self {
            circumstances,
            mechanisms: vec![Wait::ClockNanosleep],
            clocks: vec![WaitClock::Monotonic],
            periods: vec![Span::from_millis(1)],
            threads: ThreadSpec::Count(1),
            distance: Span::ZERO,
            staircase: false,
            aligned: false,
            dithered: false,
            extent: RequestedExtent::default(),
        }
    }

    /// All combinations, in interleaved turns.
    ///
    /// # Errors
    ///
    /// If the choices are invalid, or nothing of them can be measured.
    pub fn plan(&self, machine: &PlanMachine) -> Result<Plan, PlanError> {
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
        non_empty(Plan { conditions, turns, left_out })
    }

    fn check(&self, machine: &PlanMachine) -> Result<(), PlanError> {
        self.circumstances.check_cpus(machine)?;
        if self.periods.iter().any(|period| period.is_zero()) {
            return Err(PlanError::PeriodZero);
        }
        self.extent.check()?;
        if self.threads == ThreadSpec::Count(0) {
            return Err(PlanError::NothingAsked { what: "--threads" });
        }
        Ok(())
    }

    fn rounds(&self, groups: usize) -> u32 {
        self.extent.rounds.unwrap_or(if groups > 1 { ROUNDS_TO_COMPARE } else { 1 }).max(1)
    }

    /// The combinations that can be measured, and caveats for the others.
    fn groups(&self, threads: &[Option<u32>], machine: &PlanMachine) -> (Vec<ThreadGroup>, Vec<Caveat>) {
        let (mut groups, mut left_out) = (Vec::new(), Vec::new());
        let choices = &self.circumstances;
        let calls =
            self.mechanisms.iter().flat_map(|&call| self.clocks.iter().map(move |&clock| (call, clock)));
        for (mechanism, clock) in calls {
            for &period in &self.periods {
                for &policy in &choices.policies {
                    let group = |slack, load| ThreadGroup { mechanism, clock, period, policy, slack, load };
                    if let Some(reason) = self.refusal(&group(None, Load::IDLE), threads, machine) {
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

    /// Caveat if one thread per CPU follows the inherited mask, as no CPUs are given.
    fn cpus_not_measured(&self, machine: &PlanMachine) -> Option<Caveat> {
        let follows = self.threads == ThreadSpec::PerCpu && self.circumstances.cpus.is_none();
        if follows { machine.cpus_not_measured() } else { None }
    }

    /// Why a group must not, or cannot, be measured, because of one thread or of all together.
    fn refusal(
        &self,
        group: &ThreadGroup,
        threads: &[Option<u32>],
        machine: &PlanMachine,
    ) -> Option<CombinationRefusal> {
        let work = Work::Cyclic { mechanism: group.mechanism, period_ns: group.period };
        let together = || {
            let thread = |(thread, &cpu): (usize, &Option<u32>)| {
                let (work, policy) = self.work(group, thread);
                (work, policy, cpu)
            };
            refuse::reason_together(threads.iter().enumerate().map(thread), machine)
        };
        let alone = || refuse::reason(work, group.policy, self.extent.samples, machine);
        refuse::reason_on_clock(work, group.clock, machine).or_else(alone).or_else(together)
    }

    /// For each thread, the CPU it is bound to.
    fn thread_cpus(&self, machine: &PlanMachine) -> Vec<Option<u32>> {
        let chosen: Vec<u32> = self.circumstances.cpus.iter().flat_map(|cpus| cpus.iter()).collect();
        match self.threads {
            ThreadSpec::PerCpu if chosen.is_empty() => machine.allowed.iter().map(Some).collect(),
            ThreadSpec::PerCpu => chosen.into_iter().map(Some).collect(),
            ThreadSpec::Count(count) if chosen.is_empty() => vec![None; count as usize],
            ThreadSpec::Count(count) => chosen.into_iter().cycle().take(count as usize).map(Some).collect(),
        }
    }

    /// Work and policy of a group's thread.
    fn work(&self, group: &ThreadGroup, thread: usize) -> (Work, Policy) {
        let step = u32::try_from(thread).unwrap_or(u32::MAX);
        let period_ns = group.period.plus(self.distance.times(u64::from(step)));
        let policy = if self.staircase { group.policy.lowered(step) } else { group.policy };
        (Work::Cyclic { mechanism: group.mechanism, period_ns }, policy)
    }

    fn conditions(
        &self,
        group: &ThreadGroup,
        threads: &[Option<u32>],
        machine: &PlanMachine,
    ) -> Vec<Condition> {
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

    /// A turn of `group`, with one task per thread.
    fn turn(
        &self,
        group: &ThreadGroup,
        conditions: &[Condition],
        of_group: Range<usize>,
        round: u32,
        rounds: u32,
    ) -> Turn {
        let samples = self.extent.samples.map(|samples| share(samples, round, rounds));
        let (threads, duration) = (of_group.len(), share_of_time(self.extent.duration, rounds));
        let task = |(thread, number): (usize, usize)| {
            let condition = &conditions[number];
            let length = condition.work.length();
            let usual = if length <= WARM_UP_PERIOD { WARM_UP } else { 0 };
            let warm_up = self.extent.warm_up.unwrap_or(usual);
            let phase = self.phase(group.period, thread, threads);
            let samples =
                [samples, duration.map(|time| periods_in(time, length))].into_iter().flatten().min();
            Task { round, samples, warm_up, phase, ..Task::from_condition(number, condition) }
        };
        let tasks: Vec<Task> = of_group.enumerate().map(task).collect();
        let for_samples = tasks.iter().filter_map(time_for_samples).max();
        let estimate = [duration, for_samples].into_iter().flatten().min().unwrap_or_default();
        // A starved thread would never reach its number of samples.
        let cut_after = if duration.is_none() { for_samples.map(limit) } else { None };
        Turn { tasks, load: group.load.clone(), duration, cut_after, estimate }
    }

    /// First wake-up of a thread: spread over the period unless aligned.
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

fn time_for_samples(task: &Task) -> Option<Span> {
    task.samples.map(|samples| task.work.length().times(samples.saturating_add(task.warm_up)))
}

/// The share of `total` for `round`, if it is split evenly among `rounds`.
pub(crate) fn share(total: u64, round: u32, rounds: u32) -> u64 {
    let (round, rounds) = (u64::from(round), u64::from(rounds));
    total / rounds + u64::from(round < total % rounds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{circumstances, machine};

    fn choices() -> CyclicChoices {
        let choices = CyclicChoices::single_thread(circumstances());
        let extent = RequestedExtent { duration: Some(Span::from_secs(12)), ..choices.extent };
        CyclicChoices { extent, ..choices }
    }

    #[test]
    fn the_staircase_of_the_article_can_be_expressed() {
        let mut choices = choices();
        choices.circumstances.policies = vec!["fifo:99".parse().unwrap()];
        choices.threads = ThreadSpec::Count(5);
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
        choices.threads = ThreadSpec::PerCpu;
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
        choices.extent.duration = Some(Span::from_secs(1));
        let plan = choices.plan(&machine()).unwrap();
        let task = &plan.turns[0].tasks[0];
        assert_eq!((task.samples, task.warm_up), (Some(1_000), WARM_UP));
        assert_eq!(plan.turns[0].duration, Some(Span::from_secs(1)));
        choices.extent.samples = Some(10);
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
        choices.threads = ThreadSpec::Count(4);
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
        assert!(matches!(many.plan(&machine()), Err(PlanError::TooMany { count: 20_000 })));
    }

    #[test]
    fn no_number_is_too_large_to_be_refused_or_estimated() {
        let mut endless = choices();
        (endless.extent.samples, endless.extent.duration) = (Some(u64::MAX), None);
        assert_eq!(endless.plan(&machine()).unwrap().estimate(), Span::from_nanos(u64::MAX));
        let mut many = choices();
        many.periods = (1..=2_000).map(Span::from_micros).collect();
        many.extent.rounds = Some(1_000);
        assert!(matches!(many.plan(&machine()), Err(PlanError::TooManyTurns { .. })));
    }

    #[test]
    fn shares_add_up() {
        for (all, rounds) in [(10, 3), (2, 6), (1_000, 10), (7, 1)] {
            assert_eq!((0..rounds).map(|round| share(all, round, rounds)).sum::<u64>(), all);
        }
    }
}
