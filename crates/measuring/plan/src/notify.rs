//! Plans for notifications.

use howlate_model::{
    AsText, Caveat, Combination, CombinationRefusal, Condition, Cpu, Notifier, Peers, Placement, Policy,
    ReceiverCpu, Span, Turn, Work,
};

use crate::cyclic::share;
use crate::pairs::{CpuPair, CpuPairs};
use crate::single::{SingleTaskTurn, TurnExtent, share_of_time};
use crate::{
    CommonChoices, Plan, PlanError, PlanMachine, RequestedExtent, check_count, check_turns, non_empty, order,
};

/// Choices for notifications.
#[derive(Clone, Debug)]
pub struct NotifyChoices {
    /// Policies, slacks, loads, CPUs, seed.
    pub circumstances: CommonChoices,
    pub notifiers: Vec<Notifier>,
    /// Notifiers that the kernel or a container refuses.
    pub refused: Vec<(Notifier, AsText<CombinationRefusal>)>,
    /// Sleeps of the sender before each notification.
    pub gaps: Vec<Span>,
    /// Processes or threads.
    pub between: Vec<Peers>,
    /// States of the receiver's CPU.
    pub receivers: Vec<ReceiverCpu>,
    /// The CPUs of senders and receivers.
    pub pairs: CpuPairs,
    /// All CPUs of the machine, for placements.
    pub cpus: Vec<Cpu>,
    /// Whether the latency runs until the sender has its answer.
    pub round_trip: bool,
    /// Samples are notifications, by default 1000; warm-up: ten. The duration is the cut-off time. Turns: enough to distinguish
    /// conditions.
    pub extent: RequestedExtent,
}

/// Counted and uncounted notifications per condition: as in the widely quoted comparison
/// "Lowest latency notification method between processes under Linux".
const SAMPLES: u64 = 1_000;
const WARM_UP: u64 = 100;

/// Minimum turns per condition.
const ROUNDS: u32 = 10;

/// Turns needed to rank this many mechanisms: the probability that all turns of any pair have one sign, tested twice per pair
/// (median and p99), is at most 5 %.
const fn rounds_to_rank(mechanisms: u32) -> u32 {
    rounds_for(mechanisms * mechanisms.saturating_sub(1))
}

/// Turns needed for this many comparisons to be able to show a difference: the smallest possible p-value, times the number of
/// comparisons, is at most 5 %.
const fn rounds_for(comparisons: u32) -> u32 {
    1 + (20 * comparisons).next_power_of_two().trailing_zeros()
}

/// Statistics per turn of a hundred samples: median, p99 and maximum.
const STATISTICS: u32 = 3;

/// Notifications per turn whose timestamps fit into a few megabytes.
const MOST_PER_TURN: u64 = 1 << 18;

/// Approximate time of a notification besides its gap: late sleep and delivery.
const OVERHEAD: Span = Span::from_micros(80);

/// Maximum time for which a real-time thread may keep a CPU busy.
const LONGEST_BUSY: Span = Span::from_secs(3);

impl NotifyChoices {
    /// All combinations, in interleaved turns.
    ///
    /// # Errors
    ///
    /// If the choices are invalid, or nothing of them can be measured.
    pub fn plan(&self, machine: &PlanMachine) -> Result<Plan, PlanError> {
        self.circumstances.check_cpus(machine)?;
        self.extent.check()?;
        let usable = self.circumstances.cpus.clone().unwrap_or_else(|| machine.allowed.clone());
        let (pairs, mut left_out) = self.pairs.choose(&usable, machine, &self.cpus)?;
        let factors =
            [self.notifiers.len(), self.gaps.len(), self.between.len(), self.receivers.len(), pairs.len()];
        self.circumstances.check_product(&factors)?;
        let conditions = self.conditions(&pairs, machine, &mut left_out);
        check_count(conditions.len())?;
        let rounds = self.rounds();
        check_turns(conditions.len(), rounds)?;
        let order = order::interleaved(conditions.len(), rounds, self.circumstances.seed);
        let turn = |(number, round): (usize, u32)| self.turn(&conditions, number, round, rounds);
        let turns = order.into_iter().filter_map(turn).collect();
        non_empty(Plan { conditions, turns, left_out })
    }

    fn conditions(
        &self,
        pairs: &[CpuPair],
        machine: &PlanMachine,
        left_out: &mut Vec<Caveat>,
    ) -> Vec<Condition> {
        let mut conditions = Vec::new();
        for &policy in &self.circumstances.policies {
            for &notifier in &self.notifiers {
                for &pair in pairs {
                    match self.refusal(notifier, policy, pair) {
                        None => conditions.extend(self.conditions_of(notifier, policy, pair, machine)),
                        Some((condition, reason)) => {
                            let caveat = Caveat::LeftOut { condition: condition.into(), reason };
                            if !left_out.contains(&caveat) {
                                left_out.push(caveat);
                            }
                        }
                    }
                }
            }
        }
        conditions
    }

    /// The combination that must not, or cannot, be measured, and why.
    fn refusal(
        &self,
        notifier: Notifier,
        policy: Policy,
        pair: CpuPair,
    ) -> Option<(Combination, AsText<CombinationRefusal>)> {
        if let Some((_, reason)) = self.refused.iter().find(|(refused, _)| *refused == notifier) {
            return Some((Combination::Notifier(notifier), reason.clone()));
        }
        if notifier.spins() && pair.placement == Placement::SameCpu {
            let reason = CombinationRefusal::SpinsBesideSender { cpu: pair.sender };
            return Some((Combination::OnOneCpu(notifier), reason.into()));
        }
        let realtime = matches!(policy, Policy::Fifo { .. } | Policy::Rr { .. });
        let longest = self.gaps.iter().map(|gap| self.turn_length(*gap)).max().unwrap_or_default();
        if realtime && notifier.burns_cpu() && longest > LONGEST_BUSY {
            let reason =
                CombinationRefusal::ReceiverKeepsCpu { cpu: pair.receiver, longest, most: LONGEST_BUSY };
            return Some((Combination::Notify { notifier, policy }, reason.into()));
        }
        None
    }

    /// All conditions of a notifier, policy and pair.
    fn conditions_of(
        &self,
        mechanism: Notifier,
        policy: Policy,
        pair: CpuPair,
        machine: &PlanMachine,
    ) -> Vec<Condition> {
        let mut conditions = Vec::new();
        for &slack_ns in self.circumstances.slacks_for(policy) {
            for load in &self.circumstances.loads {
                for work in self.works(mechanism, pair) {
                    conditions.push(Condition {
                        policy,
                        slack_ns,
                        cpu: Some(pair.receiver),
                        load: load.clone(),
                        ..Condition::new(work, &machine.kernel)
                    });
                }
            }
        }
        conditions
    }

    /// One for each gap, receiver state and kind of peers.
    fn works(&self, mechanism: Notifier, pair: CpuPair) -> Vec<Work> {
        let mut works = Vec::new();
        for &between in &self.between {
            for &receiver in &self.receivers {
                works.extend(self.gaps.iter().map(|&after_ns| Work::Notify {
                    mechanism,
                    after_ns,
                    between,
                    sender_cpu: Some(pair.sender),
                    placement: Some(pair.placement),
                    receiver,
                    round_trip: self.round_trip,
                }));
            }
        }
        works
    }

    fn samples(&self) -> u64 {
        // A turn of 100 has a 99th percentile.
        let enough = if self.extent.rounds.is_none() { 100 * u64::from(self.requested_rounds()) } else { 0 };
        self.extent.samples.unwrap_or(SAMPLES.max(enough))
    }

    fn rounds(&self) -> u32 {
        let least = u32::try_from(self.samples().div_ceil(MOST_PER_TURN)).unwrap_or(u32::MAX);
        self.requested_rounds().max(least).max(1)
    }

    fn requested_rounds(&self) -> u32 {
        let mechanisms = u32::try_from(self.notifiers.len()).unwrap_or(u32::MAX).min(1_000);
        let enough = || ROUNDS.max(rounds_to_rank(mechanisms)).max(rounds_for(self.comparisons()));
        self.extent.rounds.unwrap_or_else(enough)
    }

    /// Maximum number of tests of `howlate compare --by`: for each other choice, all values of one property against the first.
    fn comparisons(&self) -> u32 {
        let own = [self.notifiers.len(), self.gaps.len(), self.between.len(), self.receivers.len()];
        let choices =
            own.into_iter().chain([self.circumstances.policies.len(), self.circumstances.loads.len()]);
        let (all, most) = choices.fold((1, 1), |(all, most), count| (all * count, most.max(count)));
        u32::try_from(all - all / most).unwrap_or(u32::MAX).min(1_000_000) * STATISTICS
    }

    fn warm_up(&self) -> u64 {
        self.extent.warm_up.unwrap_or(WARM_UP.div_ceil(u64::from(self.rounds())))
    }

    /// Duration of the longest turn with this gap.
    fn turn_length(&self, gap: Span) -> Span {
        let messages = self.samples().div_ceil(u64::from(self.rounds())) + self.warm_up();
        gap.plus(OVERHEAD).times(messages)
    }

    fn turn(&self, conditions: &[Condition], number: usize, round: u32, rounds: u32) -> Option<Turn> {
        let each = conditions[number].work.length().plus(OVERHEAD);
        let samples = share(self.samples(), round, rounds);
        let extent = TurnExtent::Samples(samples, share_of_time(self.extent.duration, rounds));
        SingleTaskTurn { number, round, extent, warm_up: self.warm_up(), each, first: Span::ZERO }
            .turn(conditions)
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::OsError;

    use super::*;

    #[test]
    fn the_more_mechanisms_the_more_rounds() {
        assert_eq!([2, 5, 18, 23].map(rounds_to_rank), [7, 10, 14, 15]);
        let five =
            [Notifier::Semaphore, Notifier::Signal, Notifier::Pipe, Notifier::Eventfd, Notifier::Futex];
        assert_eq!(
            choices(&five).rounds(),
            12,
            "2 / 2^12 for each of 20 pairs and 3 statistics is below 5 %"
        );
        assert_eq!(choices(&five[..1]).rounds(), ROUNDS);
    }
    use crate::testing::{circumstances, machine};

    fn choices(notifiers: &[Notifier]) -> NotifyChoices {
        NotifyChoices {
            circumstances: circumstances(),
            notifiers: notifiers.to_vec(),
            refused: vec![],
            gaps: [1, 10, 100, 1_000, 10_000].map(Span::from_micros).into(),
            between: vec![Peers::Processes],
            receivers: vec![ReceiverCpu::AsLeft],
            pairs: CpuPairs::Nearest,
            cpus: vec![],
            round_trip: false,
            extent: RequestedExtent::default(),
        }
    }

    fn reasons(plan: &Plan) -> Vec<String> {
        let reason = |caveat: &Caveat| match caveat {
            Caveat::LeftOut { condition, reason } => format!("{condition}: {reason}"),
            other => format!("{other:?}"),
        };
        plan.left_out.iter().map(reason).collect()
    }

    #[test]
    fn the_tables_of_the_article_are_complete() {
        let plan = choices(&[Notifier::Semaphore, Notifier::Pipe]).plan(&machine()).unwrap();
        assert_eq!((plan.conditions.len(), plan.turns.len(), plan.left_out.len()), (10, 100, 0));
        let tasks = plan.turns.iter().flat_map(|turn| &turn.tasks);
        let (samples, warm_up) = tasks
            .filter(|task| task.condition == 3)
            .fold((0, 0), |sum, task| (sum.0 + task.samples.unwrap(), sum.1 + task.warm_up));
        assert_eq!((samples, warm_up), (1_000, 100));
    }

    #[test]
    fn what_kernel_or_container_refuse_is_left_out_once() {
        let mut choices = choices(&[Notifier::PosixMq, Notifier::Pipe]);
        choices.refused = vec![(Notifier::PosixMq, CombinationRefusal::Refused(OsError(38).into()).into())];
        choices.circumstances.policies.push("fifo:80".parse().unwrap());
        let plan = choices.plan(&machine()).unwrap();
        assert_eq!(
            reasons(&plan),
            ["posix_mq: the kernel or the container refuses it (Function not implemented (os error 38))"]
        );
        assert_eq!(plan.conditions.len(), 10);
    }

    #[test]
    fn one_cpu_has_no_cross_cpu_result_and_no_spinning() {
        let mut choices = choices(&[Notifier::Pipe, Notifier::BusyWait, Notifier::SchedYield]);
        let one_cpu = PlanMachine { allowed: "2".parse().unwrap(), ..machine() };
        let plan = choices.plan(&one_cpu).unwrap();
        let text = reasons(&plan).join("; ");
        assert!(text.contains("was started on CPU 2 only") && text.contains("would spin on CPU 2"), "{text}");
        assert!(
            plan.conditions
                .iter()
                .all(|condition| condition.cpu == Some(2) && condition.work.sender_cpu() == Some(2))
        );
        assert_eq!(plan.conditions.len(), 10);
        choices.notifiers = vec![Notifier::BusyWait];
        assert!(matches!(choices.plan(&one_cpu), Err(PlanError::NothingLeft(_))));
    }

    #[test]
    fn spinning_under_a_realtime_policy_is_short_or_refused() {
        let mut choices = choices(&[Notifier::BusyWait, Notifier::SchedYield]);
        choices.circumstances.policies = vec!["fifo:80".parse().unwrap()];
        assert_eq!(choices.plan(&machine()).unwrap().left_out, []);
        choices.extent.rounds = Some(1);
        assert!(matches!(choices.plan(&machine()), Err(PlanError::NothingLeft(_))));
        choices.circumstances.policies = vec![Policy::OTHER];
        assert_eq!(choices.plan(&machine()).unwrap().left_out, []);
        choices.extent.rounds = None;
        choices.pairs = CpuPairs::These(vec![(1, 1)]);
        choices.circumstances.policies = vec!["rr:1".parse().unwrap()];
        let plan = choices.plan(&machine()).unwrap();
        assert!(reasons(&plan)[0].starts_with("busy_wait on one CPU: "));
    }
}
