//! Plans of `--steps`: sleeps of many lengths, without and with controls, to find steps in their lateness.

use howlate_model::{
    AsText, Caveat, Condition, CpuSet, Load, Policy, SettingRefusal, SettingWrite, Sleeper, Span, TunedKnobs,
    Turn, Wait, WaitClock, Work,
};

use crate::cyclic::share;
use crate::single::{SingleTaskTurn, TurnExtent};
use crate::steps_refusal::StepsRefusal;
use crate::{Plan, PlanError, PlanMachine, RequestedExtent};

/// Choices for `--steps`.
#[derive(Clone, Debug)]
pub struct StepChoices {
    /// Policies; only one is allowed.
    pub policies: Vec<Policy>,
    /// Timer slacks; only one is allowed. `None`: as inherited.
    pub slacks: Vec<Option<Span>>,
    /// Sleepers; only one system call is allowed.
    pub sleepers: Vec<Sleeper>,
    /// Clocks; only one is allowed.
    pub clocks: Vec<WaitClock>,
    /// CPUs; only one is allowed. `None`: the last of the inherited mask.
    pub cpus: Option<CpuSet>,
    /// Samples are sleeps; warm-up: some milliseconds' worth. A duration has no effect.
    pub extent: RequestedExtent,
    /// Seed of the order of turns.
    pub seed: u64,
    /// Why `/dev/cpu_dma_latency` cannot be held; `None` if it can.
    pub dma_latency_refused: Option<AsText<SettingRefusal>>,
}

/// Name of the setting in `howlate tune`.
const KNOB: &str = "cpu_dma_latency";
const DMA_LATENCY: &str = "/dev/cpu_dma_latency";

/// Ten lengths per decade, as preferred numbers (ISO 3), from 10 µs to 20 ms.
const MANTISSAS: [u64; 10] = [100, 125, 160, 200, 250, 315, 400, 500, 630, 800];
const SHORTEST: Span = Span::from_micros(10);
const LENGTHS: usize = 34;

/// Default number of rounds.
const ROUNDS: u32 = 8;
/// Fewer rounds give no 95 % confidence interval.
const LEAST_ROUNDS: u32 = 6;
/// Default number of sleeps per length and round: about 20 s of sleeps in all.
const SAMPLES: u64 = 6;
/// Fewest samples for a turn's median.
const LEAST_SAMPLES: u64 = 3;

impl StepChoices {
    /// All lengths, without and with each control, in interleaved rounds.
    ///
    /// # Errors
    ///
    /// If there is more than one sweep, or too few rounds or samples.
    pub fn plan(&self, machine: &PlanMachine) -> Result<Plan, PlanError> {
        let first = self.first(machine)?;
        let (rounds, samples) = self.extent()?;
        let families = self.families(&first);
        let left_out = self.left_out();
        let conditions: Vec<Condition> = families.iter().flat_map(sweep).collect();
        let turn = |(number, round): (usize, u32)| {
            let work = conditions[number].work;
            let extent = TurnExtent::Samples(share(samples, round, rounds), None);
            let (warm_up, each) = (self.extent.warm_up.unwrap_or_else(|| warm_up(work)), work.length());
            SingleTaskTurn { number, round, extent, warm_up, each, first: Span::ZERO }.turn(&conditions)
        };
        let turns: Vec<Turn> =
            order(families.len(), rounds, self.seed).into_iter().filter_map(turn).collect();
        Ok(Plan { conditions, turns, left_out })
    }

    /// The sweep's first condition.
    fn first(&self, machine: &PlanMachine) -> Result<Condition, PlanError> {
        let sleeper = only("call", &self.sleepers)?;
        let (policy, clock) = (only("policy", &self.policies)?, only("clock", &self.clocks)?);
        check(sleeper)?;
        let work = Work::Sleep { mechanism: sleeper, target_ns: SHORTEST };
        let cpu = match &self.cpus {
            Some(cpus) => {
                machine.check_cpus(cpus)?;
                only("CPU", &cpus.iter().collect::<Vec<_>>())?
            }
            None => machine.allowed.iter().last().unwrap_or_default(),
        };
        let slack_ns = only("slack", &self.slacks)?;
        Ok(Condition { policy, clock, slack_ns, cpu: Some(cpu), ..Condition::new(work, &machine.kernel) })
    }

    /// Number of rounds, and of sleeps per condition.
    fn extent(&self) -> Result<(u32, u64), StepsRefusal> {
        let rounds = self.extent.rounds.unwrap_or(ROUNDS);
        if rounds < LEAST_ROUNDS {
            return Err(StepsRefusal::FewRounds { least: LEAST_ROUNDS, found: rounds });
        }
        let samples = self.extent.samples.unwrap_or(SAMPLES * u64::from(rounds));
        if samples < LEAST_SAMPLES * u64::from(rounds) {
            return Err(StepsRefusal::FewSamples { least: LEAST_SAMPLES, samples, rounds });
        }
        Ok((rounds, samples))
    }

    /// First conditions of the sweep without controls and of each control's sweep.
    fn families(&self, first: &Condition) -> Vec<Condition> {
        let cpus: CpuSet = first.cpu.into_iter().collect();
        let held = TunedKnobs {
            knobs: vec![KNOB.to_owned()],
            slice: None,
            writes: vec![SettingWrite::request(DMA_LATENCY, "0")],
        };
        let least = Some(Span::from_nanos(1));
        let awake = Condition { load: Load::awake().bound_to(&cpus), ..first.clone() };
        let shallow = Condition { tuned: Some(held), ..first.clone() };
        let punctual = Condition { slack_ns: least, ..first.clone() };
        let can_hold = self.dma_latency_refused.is_none();
        let has_slack = !first.policy.is_realtime() && first.slack_ns != least;
        let controls = [(true, awake), (can_hold, shallow), (has_slack, punctual)];
        let tried = controls.into_iter().filter_map(|(is_tried, control)| is_tried.then_some(control));
        std::iter::once(first.clone()).chain(tried).collect()
    }

    fn left_out(&self) -> Vec<Caveat> {
        let refused = |reason: &AsText<SettingRefusal>| Caveat::ControlNotTried {
            setting: DMA_LATENCY.to_owned(),
            reason: reason.clone(),
        };
        self.dma_latency_refused.iter().map(refused).collect()
    }
}

/// The only value, or an error if there are several.
fn only<T: Clone>(what: &'static str, all: &[T]) -> Result<T, StepsRefusal> {
    match all {
        [value] => Ok(value.clone()),
        several => Err(StepsRefusal::Several { what, found: several.len() }),
    }
}

fn check(sleeper: Sleeper) -> Result<(), StepsRefusal> {
    let because = match sleeper.wait() {
        None => "rounds lengths and starts programs of its own",
        Some(Wait::BusyWait | Wait::SleepThenSpin) => "spins",
        Some(_) => return Ok(()),
    };
    Err(StepsRefusal::NotATimer { sleeper, because })
}

/// The conditions of one sweep.
fn sweep(first: &Condition) -> Vec<Condition> {
    let length = |number: usize| {
        let decade = 10_u64.pow(u32::try_from(number / MANTISSAS.len()).unwrap_or_default());
        Span::from_nanos(MANTISSAS[number % MANTISSAS.len()] * decade * 100)
    };
    let condition = |target_ns| match first.work {
        Work::Sleep { mechanism, .. } => {
            Condition { work: Work::Sleep { mechanism, target_ns }, ..first.clone() }
        }
        _ => first.clone(),
    };
    (0..LENGTHS).map(length).map(condition).collect()
}

/// In each round all sweeps in random order, and in each sweep all lengths in random order: a load is started once per sweep.
fn order(families: usize, rounds: u32, seed: u64) -> Vec<(usize, u32)> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut sweeps: Vec<usize> = (0..families).collect();
    let mut lengths: Vec<usize> = (0..LENGTHS).collect();
    let mut turns = Vec::new();
    for round in 0..rounds {
        random.shuffle(&mut sweeps);
        for sweep in &sweeps {
            random.shuffle(&mut lengths);
            turns.extend(lengths.iter().map(|length| (sweep * LENGTHS + length, round)));
        }
    }
    turns
}

/// About five milliseconds' worth: idle governors consider the last few sleeps.
fn warm_up(work: Work) -> u64 {
    const WORTH: u64 = 5_000_000;
    (WORTH / work.length().as_nanos().max(1)).clamp(1, 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;
    use howlate_model::Runtime;

    fn choices() -> StepChoices {
        StepChoices {
            policies: vec![Policy::OTHER],
            slacks: vec![None],
            sleepers: vec![Sleeper::Wait(Wait::ClockNanosleep)],
            clocks: vec![WaitClock::Monotonic],
            cpus: None,
            extent: RequestedExtent::default(),
            seed: 7,
            dma_latency_refused: None,
        }
    }

    #[test]
    fn lengths_are_log_spaced_and_every_control_has_them() {
        let plan = choices().plan(&machine()).unwrap();
        assert_eq!(plan.conditions.len(), 4 * LENGTHS);
        let lengths: Vec<String> =
            plan.conditions[..LENGTHS].iter().map(|condition| condition.work.length().to_string()).collect();
        assert_eq!(
            [&lengths[0], &lengths[1], &lengths[13], &lengths[33]],
            ["10us", "12.5us", "200us", "20ms"]
        );
        assert!(plan.conditions.iter().all(|condition| condition.cpu == Some(3)));
        assert_eq!(plan.conditions[LENGTHS].load.to_string(), "awake:cpus=3");
        assert_eq!(plan.conditions[2 * LENGTHS].tuned.as_ref().unwrap().writes[0].path, DMA_LATENCY);
        assert_eq!(plan.conditions[3 * LENGTHS].slack_ns, Some(Span::from_nanos(1)));
        assert!((Span::from_secs(15)..Span::from_secs(30)).contains(&plan.estimate()), "{}", plan.estimate());
    }

    #[test]
    fn each_round_has_every_length_once_in_random_order_and_sweeps_stay_together() {
        let plan = choices().plan(&machine()).unwrap();
        assert_eq!(plan.turns.len(), 4 * LENGTHS * 8);
        for sweep in plan.turns.chunks(LENGTHS) {
            let mut numbers: Vec<u32> = sweep.iter().map(|turn| turn.tasks[0].condition).collect();
            assert!(!numbers.is_sorted());
            numbers.sort_unstable();
            assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]));
        }
        assert!(plan.turns.iter().all(|turn| turn.tasks[0].samples == Some(6)));
    }

    #[test]
    fn what_cannot_be_tried_is_left_out_and_said() {
        let refused = AsText::Value(SettingRefusal::NoFile { path: DMA_LATENCY.into() });
        let mut choices = StepChoices { dma_latency_refused: Some(refused), ..choices() };
        choices.policies = vec!["fifo:80".parse().unwrap()];
        let plan = choices.plan(&machine()).unwrap();
        assert_eq!(plan.conditions.len(), 2 * LENGTHS, "no slack, no limit");
        assert!(matches!(&plan.left_out[..], [Caveat::ControlNotTried { .. }]));
    }

    #[test]
    fn what_is_no_sweep_is_refused_with_what_to_type() {
        let refused = |change: fn(&mut StepChoices)| {
            let mut choices = choices();
            change(&mut choices);
            let error = choices.plan(&machine()).unwrap_err();
            format!("{error} {}", error.hint().unwrap_or_default())
        };
        let says = |change: fn(&mut StepChoices), expected: &str| {
            let text = refused(change);
            assert!(text.contains(expected), "{text}");
        };
        says(|choices| choices.policies.push(Policy::Idle), "one policy, and this run has 2");
        says(|choices| choices.cpus = Some("0-1".parse().unwrap()), "one CPU, and this run has 2");
        says(|choices| choices.cpus = Some("9".parse().unwrap()), "CPU 9 cannot be used");
        says(|choices| choices.sleepers = vec![Sleeper::Runtime(Runtime::Python)], "`python` rounds lengths");
        says(|choices| choices.sleepers = vec![Sleeper::Wait(Wait::BusyWait)], "`busy_wait` spins");
        says(|choices| choices.extent.rounds = Some(3), "`--rounds 6` or more");
        says(|choices| choices.extent.samples = Some(8), "`--samples 24` or more");
    }
}
