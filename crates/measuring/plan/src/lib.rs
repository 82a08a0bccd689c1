//! Plans: expands choices into conditions and turns.
//!
//! Conditions are the product of all lists of choices. Combinations that cannot be measured are left out with a
//! reason; the rest is split into turns in seeded random order, so that drift of the machine affects all
//! conditions alike. Pure: the machine is described by [`PlanMachine`].

mod cyclic;
mod error;
mod file;
mod notify;
mod order;
mod pairs;
mod refuse;
mod single;
mod sleep;
mod steps;
mod steps_refusal;
mod traced;
mod trials;

pub use cyclic::{CyclicChoices, ThreadSpec};
pub use error::PlanError;
pub use file::{MeasureTable, PlanEntry, PlanFile, PlanFileError};
pub use notify::NotifyChoices;
pub use order::join_plans;
pub use pairs::CpuPairs;
pub use sleep::SleepChoices;
pub use steps::StepChoices;
pub use steps_refusal::StepsRefusal;
pub use trials::{SeveralConditions, Trials};

use howlate_model::{
    AsText, Caveat, CombinationRefusal, Condition, CpuSet, Load, Policy, Runtime, Span, Turn, WaitClock,
};

/// Facts about the machine that plans depend on.
#[derive(Clone, Debug)]
pub struct PlanMachine {
    /// The inherited affinity mask: default CPUs of threads.
    pub allowed: CpuSet,
    /// CPUs that threads can be bound to.
    pub bindable: CpuSet,
    /// Isolated CPUs among these.
    pub isolated: CpuSet,
    /// The kernel's release, which becomes part of each condition.
    pub kernel: String,
    /// Minimum CPU time of a wake-up, see `Instrument::wait`.
    pub wait: Span,
    /// Clocks that can be waited on.
    pub clocks: Vec<WaitClock>,
    /// Requested runtimes that are not installed, and how to install them.
    pub missing: Vec<(Runtime, AsText<CombinationRefusal>)>,
}

impl PlanMachine {
    /// Checks that threads can be bound to all of `cpus`.
    fn check_cpus(&self, cpus: &CpuSet) -> Result<(), PlanError> {
        let (bindable, isolated) = (self.bindable.clone(), self.isolated.clone());
        match cpus.first_outside(&bindable) {
            Some(cpu) => Err(PlanError::NoSuchCpu { cpu, bindable, isolated }),
            None => Ok(()),
        }
    }

    /// Caveat for one thread per CPU of the inherited mask, if that is not every CPU.
    fn cpus_not_measured(&self) -> Option<Caveat> {
        let unmeasured = self.bindable.without(&self.allowed);
        let isolated = self.isolated.without(&self.allowed);
        (!unmeasured.is_empty()).then(|| Caveat::CpusNotMeasured {
            followed: self.allowed.clone(),
            others: unmeasured,
            isolated,
        })
    }
}

/// Conditions and turns of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Turns refer to these by index.
    pub conditions: Vec<Condition>,
    /// In the order of measurement.
    pub turns: Vec<Turn>,
    /// Requested combinations that cannot be measured.
    pub left_out: Vec<Caveat>,
}

impl Plan {
    /// Sets the cut-off time of every turn.
    pub fn cut_after(&mut self, limit: Span) {
        self.turns.iter_mut().for_each(|turn| turn.cut_after = Some(limit));
    }

    /// Whether turns with the same load mostly follow each other, so that the load can keep running.
    pub fn has_runs_of_loads(&self) -> bool {
        /// Minimum average number of turns between changes of the load.
        const LONG: usize = 8;
        let changes = self.turns.windows(2).filter(|pair| pair[0].load != pair[1].load).count();
        changes > 0 && changes * LONG < self.turns.len()
    }

    /// Expected duration of all turns if nothing is late.
    pub fn estimate(&self) -> Span {
        self.turns.iter().fold(Span::ZERO, |sum, turn| sum.plus(turn.estimate))
    }
}

/// Maximum number of conditions; more are a typing error.
pub const MOST_CONDITIONS: usize = 10_000;

/// Maximum number of turns times threads; more are a typing error, and would not fit into memory.
pub const MOST_TURNS: usize = 200_000;

/// Choices common to all kinds of measurement.
#[derive(Clone, Debug, Default)]
pub struct CommonChoices {
    /// Scheduling policies.
    pub policies: Vec<Policy>,
    /// Timer slacks; `None`: as inherited.
    pub slacks: Vec<Option<Span>>,
    /// Background loads.
    pub loads: Vec<Load>,
    /// CPUs to bind to; `None`: unbound, or all CPUs for one thread per CPU.
    pub cpus: Option<CpuSet>,
    /// Seed of the order of turns.
    pub seed: u64,
}

impl CommonChoices {
    /// Slacks that matter under `policy`: real-time threads have none.
    fn slacks_for(&self, policy: Policy) -> &[Option<Span>] {
        let useful = if policy.is_realtime() { 1 } else { self.slacks.len() };
        &self.slacks[..useful.min(self.slacks.len())]
    }

    /// Refuses too many combinations before they are listed; `factors` are the numbers of further choices.
    fn check_product(&self, factors: &[usize]) -> Result<(), PlanError> {
        let own = [self.policies.len(), self.slacks.len(), self.loads.len()];
        let count =
            own.iter().chain(factors).fold(1, |product: usize, &choices| product.saturating_mul(choices));
        check_count(count)
    }

    fn check_cpus(&self, machine: &PlanMachine) -> Result<(), PlanError> {
        self.cpus.as_ref().map_or(Ok(()), |cpus| machine.check_cpus(cpus))
    }
}

/// How long each condition is measured; what is `None` is chosen by the plan.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestedExtent {
    /// Wake-ups, sleeps or notifications per condition.
    pub samples: Option<u64>,
    /// Those at the start of each turn that are not counted.
    pub warm_up: Option<u64>,
    /// Time per condition.
    pub duration: Option<Span>,
    /// Turns per condition.
    pub rounds: Option<u32>,
}

impl RequestedExtent {
    /// Refuses a duration or sample count of zero.
    fn check(self) -> Result<(), PlanError> {
        if self.duration.is_some_and(Span::is_zero) {
            return Err(PlanError::DurationZero);
        }
        match self.samples {
            Some(0) => Err(PlanError::NothingAsked { what: "--samples" }),
            _ => Ok(()),
        }
    }
}

fn check_count(count: usize) -> Result<(), PlanError> {
    if count > MOST_CONDITIONS { Err(PlanError::TooMany { count }) } else { Ok(()) }
}

/// Refuses too many turns before they are listed.
fn check_turns(conditions: usize, rounds: u32) -> Result<(), PlanError> {
    let count = conditions.saturating_mul(rounds as usize);
    if count > MOST_TURNS { Err(PlanError::TooManyTurns { count }) } else { Ok(()) }
}

/// Refuses a plan without turns.
fn non_empty(plan: Plan) -> Result<Plan, PlanError> {
    if !plan.turns.is_empty() {
        return Ok(plan);
    }
    Err(PlanError::NothingLeft(plan.left_out))
}

/// Removes repeated values, keeping the first of each.
pub fn deduplicate<T: Clone + PartialEq>(values: &[T]) -> Vec<T> {
    let mut unique: Vec<T> = Vec::new();
    for value in values {
        if !unique.contains(value) {
            unique.push(value.clone());
        }
    }
    unique
}

#[cfg(test)]
mod testing {
    use super::*;

    pub(crate) fn machine() -> PlanMachine {
        let wait = Span::from_micros(4);
        let every: CpuSet = "0-3".parse().unwrap();
        PlanMachine {
            allowed: every.clone(),
            bindable: every,
            isolated: CpuSet::default(),
            kernel: "6.1.0".into(),
            wait,
            clocks: vec![WaitClock::Monotonic, WaitClock::Tai],
            missing: vec![],
        }
    }

    pub(crate) fn circumstances() -> CommonChoices {
        CommonChoices {
            policies: vec![Policy::OTHER],
            slacks: vec![None],
            loads: vec![Load::IDLE],
            cpus: None,
            seed: 7,
        }
    }
}
