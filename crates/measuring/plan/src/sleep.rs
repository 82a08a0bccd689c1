//! Plans for sleeps.

use howlate_model::{
    AsText, Caveat, Combination, CombinationRefusal, Condition, Policy, Runtime, Sleeper, Span, Turn,
    WaitClock, Work,
};

use crate::cyclic::share;
use crate::single::{SingleTaskTurn, TurnExtent, share_of_time};
use crate::{
    CommonChoices, Plan, PlanError, PlanMachine, RequestedExtent, check_count, check_turns, non_empty, order,
    refuse,
};

/// Choices for sleeps.
#[derive(Clone, Debug)]
pub struct SleepChoices {
    /// Policies, slacks, loads, CPUs, seed.
    pub circumstances: CommonChoices,
    /// System calls, languages, programs.
    pub sleepers: Vec<Sleeper>,
    /// Clocks to sleep by.
    pub clocks: Vec<WaitClock>,
    /// Requested sleep lengths.
    pub lengths: Vec<Span>,
    /// Samples are sleeps, by default as many as fit into the duration, or without one into a second, at least 3 and at most 1000.
    /// Warm-up: some milliseconds' worth, more for runtimes that start slowly. With samples, the duration is the cut-off time. One turn
    /// for a single condition, otherwise several.
    pub extent: RequestedExtent,
}

/// Turns per condition if there are several conditions.
const ROUNDS_TO_COMPARE: u32 = 10;

/// Sleeps per turn that fit the observer's buffer, however short they are.
const MOST_PER_TURN: u64 = 1 << 20;

impl SleepChoices {
    /// All combinations, in interleaved turns.
    ///
    /// # Errors
    ///
    /// If the choices are invalid, or nothing of them can be measured.
    pub fn plan(&self, machine: &PlanMachine) -> Result<Plan, PlanError> {
        self.circumstances.check_cpus(machine)?;
        self.extent.check()?;
        self.circumstances.check_product(&[self.sleepers.len(), self.clocks.len(), self.lengths.len()])?;
        let (conditions, left_out) = self.conditions(machine);
        check_count(conditions.len())?;
        let rounds = self.rounds(&conditions);
        check_turns(conditions.len(), rounds)?;
        let order = order::interleaved(conditions.len(), rounds, self.circumstances.seed);
        let turns =
            order.into_iter().filter_map(|(number, round)| self.turn(&conditions, number, round, rounds));
        let turns = turns.collect();
        non_empty(Plan { conditions, turns, left_out })
    }

    fn conditions(&self, machine: &PlanMachine) -> (Vec<Condition>, Vec<Caveat>) {
        let (mut conditions, mut left_out) = (Vec::new(), Vec::new());
        for &mechanism in &self.sleepers {
            if let Some(reason) = missing_reason(mechanism, machine) {
                left_out.push(Caveat::LeftOut { condition: Combination::Sleeper(mechanism).into(), reason });
                continue;
            }
            for &clock in &self.clocks {
                self.add_for_clock(mechanism, clock, machine, &mut conditions, &mut left_out);
            }
        }
        (conditions, left_out)
    }

    /// Adds the conditions of one sleeper on one clock, or caveats.
    fn add_for_clock(
        &self,
        mechanism: Sleeper,
        clock: WaitClock,
        machine: &PlanMachine,
        conditions: &mut Vec<Condition>,
        left_out: &mut Vec<Caveat>,
    ) {
        for &policy in &self.circumstances.policies {
            for &target_ns in &self.lengths {
                let work = Work::Sleep { mechanism, target_ns };
                let alone = || refuse::reason(work, policy, self.samples_of(work), machine);
                match refuse::reason_on_clock(work, clock, machine).or_else(alone) {
                    Some(reason) => {
                        let condition = Combination::Sleep { sleeper: mechanism, length: target_ns, policy };
                        left_out.push(Caveat::LeftOut { condition: condition.into(), reason: reason.into() });
                    }
                    None => conditions.extend(self.places(work, clock, policy, machine)),
                }
            }
        }
    }

    /// One condition for each slack, load and CPU.
    fn places(&self, work: Work, clock: WaitClock, policy: Policy, machine: &PlanMachine) -> Vec<Condition> {
        let choices = &self.circumstances;
        let cpus: Vec<Option<u32>> = match &choices.cpus {
            Some(cpus) => cpus.iter().map(Some).collect(),
            None => vec![None],
        };
        let mut places = Vec::new();
        for &slack_ns in choices.slacks_for(policy) {
            for load in &choices.loads {
                let place = |&cpu| Condition {
                    policy,
                    clock,
                    slack_ns,
                    cpu,
                    load: load.clone(),
                    ..Condition::new(work, &machine.kernel)
                };
                places.extend(cpus.iter().map(place));
            }
        }
        places
    }

    /// Number of sleeps of a condition; `None`: as many as there are in its time.
    fn samples_of(&self, work: Work) -> Option<u64> {
        const SECOND: u64 = 1_000_000_000;
        let fit = |time: Span| time.as_nanos() / least_time(work).as_nanos().max(1);
        match (self.extent.samples, self.extent.duration) {
            (Some(samples), _) => Some(samples),
            // A killed program would lose its readings, so it gets the number of sleeps that takes about that long.
            (None, Some(duration)) if work.runtime().is_some() => Some(fit(duration).max(1)),
            (None, Some(_)) => None,
            (None, None) => Some((SECOND / work.length().as_nanos().max(1)).clamp(3, 1_000)),
        }
    }

    fn rounds(&self, conditions: &[Condition]) -> u32 {
        let most =
            conditions.iter().filter_map(|condition| self.samples_of(condition.work)).max().unwrap_or(1);
        let rounds =
            self.extent.rounds.unwrap_or(if conditions.len() > 1 { ROUNDS_TO_COMPARE } else { 1 }).max(1);
        rounds.max(u32::try_from(most.div_ceil(MOST_PER_TURN)).unwrap_or(u32::MAX))
    }

    fn turn(&self, conditions: &[Condition], number: usize, round: u32, rounds: u32) -> Option<Turn> {
        let work = conditions[number].work;
        let time = share_of_time(self.extent.duration, rounds);
        let extent = match (self.samples_of(work), time) {
            (None, Some(time)) => TurnExtent::Time(time),
            (samples, time) => {
                let samples = share(samples.unwrap_or_default(), round, rounds);
                TurnExtent::Samples(samples, time.filter(|_| self.extent.samples.is_some()))
            }
        };
        let warm_up = self.extent.warm_up.unwrap_or_else(|| warm_up(work));
        let (each, first) = (least_time(work), start_of_program(work));
        SingleTaskTurn { number, round, extent, warm_up, each, first }.turn(conditions)
    }
}

/// Why a runtime is unavailable on this machine.
fn missing_reason(sleeper: Sleeper, machine: &PlanMachine) -> Option<AsText<CombinationRefusal>> {
    let is = |(runtime, _): &&(Runtime, AsText<CombinationRefusal>)| Some(*runtime) == sleeper.runtime();
    machine.missing.iter().find(is).map(|(_, reason)| reason.clone())
}

/// Approximate start-up time of a program, for estimates.
const PROGRAM_START: Span = Span::from_millis(100);

/// Approximate start-up time of the program `sleep`, added to each sleep of a shell.
const SHELL_ADDS: Span = Span::from_millis(3);

/// Minimum sleep of runtimes that count in milliseconds.
const WHOLE_MILLISECOND: Span = Span::from_millis(1);

/// Minimum time of one sleep.
fn least_time(work: Work) -> Span {
    match work.runtime() {
        Some(Runtime::Shell) => work.length().plus(SHELL_ADDS),
        Some(Runtime::Node | Runtime::Java | Runtime::Tokio | Runtime::Own(_)) => {
            work.length().plus(WHOLE_MILLISECOND)
        }
        _ => work.length(),
    }
}

fn start_of_program(work: Work) -> Span {
    work.runtime().map_or(Span::ZERO, |_| PROGRAM_START)
}

/// Number of uncounted sleeps: about ten milliseconds' worth, none for long ones; for runtimes as many as they need to warm up, but
/// at most about a second's worth.
fn warm_up(work: Work) -> u64 {
    const WORTH: u64 = 10_000_000;
    const MOST_WORTH: u64 = 1_000_000_000;
    let for_caches = match work.length().as_nanos() {
        0 => 10,
        nanos if nanos > WORTH => 0,
        nanos => (WORTH / nanos).clamp(1, 10),
    };
    let fit = MOST_WORTH / least_time(work).as_nanos().max(1);
    work.runtime().map_or(for_caches, |runtime| for_caches.max(until_warm(runtime).min(fit)))
}

/// Sleeps in which a runtime compiles its code, grows its memory and starts its threads. The numbers are chosen generously: of 100 sleeps of 1 ms in 4 turns on a busy machine, the median of Node.js fell from 147 µs without warm-up
/// to 121 µs after 50 and 87 to 111 µs after 100 and 200; that of Java and Python differed no more than by chance.
const fn until_warm(runtime: Runtime) -> u64 {
    match runtime {
        Runtime::C | Runtime::Cpp | Runtime::Rust | Runtime::Shell => 10,
        Runtime::Python | Runtime::Tokio | Runtime::Go => 20,
        Runtime::Java | Runtime::JavaPark | Runtime::Node | Runtime::Own(_) => 100,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{circumstances, machine};
    use howlate_model::Wait;

    fn choices(lengths: &[&str]) -> SleepChoices {
        SleepChoices {
            circumstances: circumstances(),
            sleepers: vec![Sleeper::Wait(Wait::ClockNanosleep)],
            clocks: vec![WaitClock::Monotonic],
            lengths: lengths.iter().map(|text| text.parse().unwrap()).collect(),
            extent: RequestedExtent::default(),
        }
    }

    fn samples(plan: &Plan, condition: u32) -> u64 {
        let tasks = plan.turns.iter().flat_map(|turn| &turn.tasks);
        tasks.filter(|task| task.condition == condition).filter_map(|task| task.samples).sum()
    }

    #[test]
    fn more_sleeps_than_turns_can_hold_are_refused_before_they_are_listed() {
        for samples in [20_000_000_000_000_000, u64::MAX] {
            let mut many = choices(&["1ms"]);
            many.extent.samples = Some(samples);
            assert!(matches!(many.plan(&machine()), Err(PlanError::TooManyTurns { .. })));
        }
    }

    #[test]
    fn long_sleeps_get_few_samples_and_short_ones_many() {
        let plan = choices(&["0", "1ms", "10ms", "1s", "10s"]).plan(&machine()).unwrap();
        let counts: Vec<u64> = (0..5).map(|condition| samples(&plan, condition)).collect();
        assert_eq!(counts, [1_000, 1_000, 100, 3, 3]);
    }

    #[test]
    fn the_matrix_of_the_article_is_complete() {
        let mut choices = choices(&["0", "10ns", "100ns", "1us", "10us", "100us", "1ms", "2ms", "10ms"]);
        choices.circumstances.policies =
            ["other", "nice:-20", "rr:99"].iter().map(|text| text.parse().unwrap()).collect();
        let plan = choices.plan(&machine()).unwrap();
        assert_eq!((plan.conditions.len(), plan.left_out.len()), (27, 0));
    }

    #[test]
    fn samples_asked_for_are_taken_exactly() {
        let mut choices = choices(&["1us", "1ms"]);
        choices.extent.samples = Some(3_000_001);
        let plan = choices.plan(&machine()).unwrap();
        assert_eq!((samples(&plan, 0), samples(&plan, 1)), (3_000_001, 3_000_001));
        let most = plan.turns.iter().flat_map(|turn| &turn.tasks).filter_map(|task| task.samples).max();
        assert!(most.unwrap() <= MOST_PER_TURN);
    }

    #[test]
    fn a_duration_is_how_long_it_lasts_and_with_samples_how_long_at_most() {
        let mut choices = choices(&["1ms", "10ms"]);
        choices.extent.duration = Some(Span::from_secs(30));
        let plan = choices.plan(&machine()).unwrap();
        assert_eq!(plan.estimate(), Span::from_secs(60));
        let share = Some(Span::from_secs(3));
        assert!(plan.turns.iter().all(|turn| (turn.duration, turn.cut_after) == (share, None)));
        assert!(plan.turns.iter().flat_map(|turn| &turn.tasks).all(|task| task.samples.is_none()));
        choices.extent.samples = Some(100);
        let plan = choices.plan(&machine()).unwrap();
        assert_eq!((samples(&plan, 0), samples(&plan, 1)), (100, 100));
        assert!(plan.turns.iter().all(|turn| (turn.duration, turn.cut_after) == (None, share)));
        choices.extent.samples = None;
        choices.sleepers = vec![Sleeper::Runtime(Runtime::Python)];
        let plan = choices.plan(&machine()).unwrap();
        assert_eq!((samples(&plan, 0), samples(&plan, 1)), (30_000, 3_000));
    }

    #[test]
    fn endless_short_sleeps_of_realtime_threads_are_refused() {
        let mut choices = choices(&["10ns"]);
        choices.circumstances.policies = vec!["fifo:1".parse().unwrap()];
        assert!(choices.plan(&machine()).is_ok());
        choices.extent.duration = Some(Span::from_secs(30));
        let error = choices.plan(&machine()).unwrap_err().to_string();
        assert!(error.contains("at most 50000 samples"), "{error}");
    }

    #[test]
    fn runtimes_warm_up_until_they_are_warm() {
        let warm_up = |call: Sleeper, length: &str, requested: Option<u64>| {
            let mut choices = choices(&[length]);
            (choices.sleepers, choices.extent.warm_up) = (vec![call], requested);
            choices.plan(&machine()).unwrap().turns[0].tasks[0].warm_up
        };
        let (call, node) = (Sleeper::Wait(Wait::ClockNanosleep), Sleeper::Runtime(Runtime::Node));
        assert_eq!([warm_up(call, "1ms", None), warm_up(call, "20ms", None)], [10, 0]);
        assert_eq!([warm_up(node, "1ms", None), warm_up(node, "49ms", None)], [100, 20]);
        assert_eq!([warm_up(call, "1ms", Some(7)), warm_up(node, "1ms", Some(0))], [7, 0]);
    }

    #[test]
    fn a_relative_call_is_not_offered_twice() {
        let mut choices = choices(&["1ms"]);
        choices.sleepers = vec![Sleeper::Wait(Wait::ClockNanosleepRelative)];
        assert!(matches!(choices.plan(&machine()), Err(PlanError::NothingLeft(_))));
        choices.circumstances.policies.push(Policy::Idle);
        choices.sleepers.push(Sleeper::Wait(Wait::Nanosleep));
        assert_eq!(choices.plan(&machine()).unwrap().conditions.len(), 2);
    }

    #[test]
    fn what_the_machine_lacks_is_named_once_and_the_rest_is_planned() {
        let mut choices = choices(&["100us", "1ms"]);
        choices.sleepers = vec![Sleeper::Runtime(Runtime::Go), Sleeper::Runtime(Runtime::Python)];
        choices.circumstances.policies.push(Policy::Idle);
        let reason = AsText::Text("go is not installed: `apt-get install golang-go`".to_owned());
        let mut machine = PlanMachine { missing: vec![(Runtime::Go, reason.clone())], ..machine() };
        let plan = choices.plan(&machine).unwrap();
        assert_eq!(
            plan.left_out,
            [Caveat::LeftOut {
                condition: Combination::Sleeper(Sleeper::Runtime(Runtime::Go)).into(),
                reason
            }]
        );
        assert!(plan.conditions.iter().all(|condition| condition.work.runtime() == Some(Runtime::Python)));
        assert_eq!(plan.conditions.len(), 4);
        machine.missing.push((Runtime::Python, AsText::Text("python3 is not installed".to_owned())));
        let error = choices.plan(&machine).unwrap_err().to_string();
        assert!(error.contains("golang-go") && error.contains("python3"), "{error}");
    }

    #[test]
    fn programs_get_the_time_that_they_need() {
        let mut choices = choices(&["0"]);
        choices.sleepers = vec![Sleeper::Runtime(Runtime::Shell)];
        choices.extent.samples = Some(10_000);
        let turn = &choices.plan(&machine()).unwrap().turns[0];
        assert!(turn.estimate >= SHELL_ADDS.times(10_000).plus(PROGRAM_START));
        assert!(turn.cut_after.unwrap() > turn.estimate);
    }
}
