//! From choices to conditions and turns.
//!
//! Every list of choices multiplies with every other. What cannot be measured here is left
//! out with its reason; the rest is split into turns in seeded random order, so that drift of
//! the machine hits all conditions alike. Pure: the machine is described by [`Machine`].

mod cyclic;
mod duplicates;
mod error;
mod file;
mod joined_plans;
mod no_steps;
mod notify;
mod order;
mod pairs;
mod refuse;
mod single;
mod sleep;
mod steps;
mod traced;
mod trials;

pub use cyclic::{CyclicChoices, Threads};
pub use duplicates::without_repeats;
pub use error::PlanError;
pub use file::{FileError, Measure, PlanEntry, PlanFile};
pub use joined_plans::together;
pub use no_steps::NoSteps;
pub use notify::NotifyChoices;
pub use pairs::Pairs;
pub use sleep::SleepChoices;
pub use steps::StepChoices;
pub use trials::{NotOne, Trials};

use howlate_model::{
    AsText, Caveat, CombinationRefusal, Condition, CpuSet, Load, Policy, Runtime, Span, Turn, WaitClock,
};

/// What a plan must know of the machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// CPUs of the mask that this process inherited: where threads run if nothing else is asked for.
    pub allowed: CpuSet,
    /// CPUs that the kernel lets it bind threads to: what can be asked for.
    pub bindable: CpuSet,
    /// Those of them that are isolated.
    pub isolated: CpuSet,
    /// The kernel's release, which becomes part of each condition.
    pub kernel: String,
    /// The least CPU time a wake-up costs, see `Instrument::wait`.
    pub wait: Span,
    /// Clocks that can be waited on.
    pub clocks: Vec<WaitClock>,
    /// Runtimes asked for that this machine has not, and what would bring them.
    pub missing: Vec<(Runtime, AsText<CombinationRefusal>)>,
}

impl Machine {
    /// Whether threads can be bound to all of `cpus`.
    fn check_cpus(&self, cpus: &CpuSet) -> Result<(), PlanError> {
        let (bindable, isolated) = (self.bindable.clone(), self.isolated.clone());
        match cpus.first_outside(&bindable) {
            Some(cpu) => Err(PlanError::NoSuchCpu { cpu, bindable, isolated }),
            None => Ok(()),
        }
    }

    /// What to know where threads run on every CPU of the inherited mask, and that is not every CPU.
    fn cpus_not_measured(&self) -> Option<Caveat> {
        let others = self.bindable.without(&self.allowed);
        let isolated = self.isolated.without(&self.allowed);
        (!others.is_empty()).then(|| Caveat::CpusNotMeasured {
            followed: self.allowed.clone(),
            others,
            isolated,
        })
    }
}

/// What to measure, in which order.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Every condition; turns refer to these by index.
    pub conditions: Vec<Condition>,
    /// The turns, in the order in which they are to be taken.
    pub turns: Vec<Turn>,
    /// Combinations that were asked for but cannot be measured.
    pub left_out: Vec<Caveat>,
}

impl Plan {
    /// Cuts every turn that is not done after this time.
    pub fn cut_after(&mut self, limit: Span) {
        self.turns.iter_mut().for_each(|turn| turn.cut_after = Some(limit));
    }

    /// Whether turns of the same load follow each other, so that it can go on between them.
    pub fn has_runs_of_loads(&self) -> bool {
        /// Turns of one run.
        const LONG: usize = 8;
        let changes = self.turns.windows(2).filter(|pair| pair[0].load != pair[1].load).count();
        changes > 0 && changes * LONG < self.turns.len()
    }

    /// How long all turns take if nothing is late.
    pub fn estimate(&self) -> Span {
        self.turns.iter().fold(Span::ZERO, |sum, turn| sum.plus(turn.estimate))
    }
}

/// More conditions than this are a typing error.
pub const MOST_CONDITIONS: usize = 10_000;

/// More turns, each thread of one counted, than this are a typing error, and would not fit into memory.
pub const MOST_TURNS: usize = 200_000;

/// Choices that every kind of measurement has.
#[derive(Clone, Debug, Default)]
pub struct Circumstances {
    /// Scheduling policies, each a condition of its own.
    pub policies: Vec<Policy>,
    /// Timer slacks; `None`: as inherited.
    pub slacks: Vec<Option<Span>>,
    /// Background loads, each a condition of its own.
    pub loads: Vec<Load>,
    /// CPUs to bind to; `None`: leave it to the scheduler, or all for one thread per CPU.
    pub cpus: Option<CpuSet>,
    /// What the order of turns is drawn with.
    pub seed: u64,
}

impl Circumstances {
    /// Slacks that make a difference under `policy`: real-time threads have none.
    fn slacks_for(&self, policy: Policy) -> &[Option<Span>] {
        let useful = if policy.is_realtime() { 1 } else { self.slacks.len() };
        &self.slacks[..useful.min(self.slacks.len())]
    }

    /// Refuses more combinations than can be listed, before they are; `others` are those of
    /// choices that this does not hold.
    fn check_product(&self, others: &[usize]) -> Result<(), PlanError> {
        let own = [self.policies.len(), self.slacks.len(), self.loads.len()];
        let asked = own.iter().chain(others).fold(1, |product: usize, &count| product.saturating_mul(count));
        check_count(asked)
    }

    fn check_cpus(&self, machine: &Machine) -> Result<(), PlanError> {
        self.cpus.as_ref().map_or(Ok(()), |cpus| machine.check_cpus(cpus))
    }
}

/// Refuses turns of no length.
fn check_extent(samples: Option<u64>, duration: Option<Span>) -> Result<(), PlanError> {
    if duration.is_some_and(Span::is_zero) {
        return Err(PlanError::DurationZero);
    }
    match samples {
        Some(0) => Err(PlanError::NothingAsked { what: "--samples" }),
        _ => Ok(()),
    }
}

fn check_count(asked: usize) -> Result<(), PlanError> {
    if asked > MOST_CONDITIONS { Err(PlanError::TooMany { asked }) } else { Ok(()) }
}

/// Refuses more turns than can be listed, before they are.
fn check_turns(conditions: usize, rounds: u32) -> Result<(), PlanError> {
    let asked = conditions.saturating_mul(rounds as usize);
    if asked > MOST_TURNS { Err(PlanError::TooManyTurns { asked }) } else { Ok(()) }
}

/// The plan, unless nothing is left of it.
fn finished(plan: Plan) -> Result<Plan, PlanError> {
    if !plan.turns.is_empty() {
        return Ok(plan);
    }
    Err(PlanError::NothingLeft(plan.left_out))
}

#[cfg(test)]
mod testing {
    use super::*;

    pub(crate) fn machine() -> Machine {
        let wait = Span::from_micros(4);
        let every: CpuSet = "0-3".parse().unwrap();
        Machine {
            allowed: every.clone(),
            bindable: every,
            isolated: CpuSet::default(),
            kernel: "6.1.0".into(),
            wait,
            clocks: vec![WaitClock::Monotonic, WaitClock::Tai],
            missing: vec![],
        }
    }

    pub(crate) fn circumstances() -> Circumstances {
        Circumstances {
            policies: vec![Policy::OTHER],
            slacks: vec![None],
            loads: vec![Load::IDLE],
            cpus: None,
            seed: 7,
        }
    }
}
