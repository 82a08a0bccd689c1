//! Every setting: whether it is tried, and what it would change.

use howlate_knobs::{Change, Knob, State, Status, ThreadSetting, Whose, all};
use howlate_model::{Condition, PermanentSetting, SettingWrite};
use howlate_procfs::Root;
use howlate_render::{Fate, Listed};

use crate::altered::{Unaltered, altered, writes};
use crate::facts::Facts;
use crate::selection::KnobSelection;

/// A setting as it is on this machine.
pub(crate) struct Candidate {
    pub(crate) knob: &'static Knob,
    pub(crate) state: State,
    /// [`Fate::Tried`] where it is to be tried.
    pub(crate) fate: Fate,
    pub(crate) permanent: Vec<PermanentSetting>,
}

/// All of them, in the order in which they are listed.
pub(crate) struct Candidates {
    pub(crate) all: Vec<Candidate>,
}

impl Candidates {
    /// Looks at every knob; those of `chosen` that can be turned and change `base` are to be tried, from outside where `program`
    /// is measured.
    pub(crate) fn list(
        root: &Root,
        chosen: &[KnobSelection],
        base: &[Condition],
        program: Option<&Facts>,
    ) -> Self {
        let one = |knob: &'static Knob| {
            let state = of_program(beside(knob.state(root), base), program);
            let from_outside =
                program.zip(state.change.as_ref()).and_then(|(facts, change)| facts.fate(change));
            let fate = match (chosen.iter().any(|chosen| chosen.means(knob, &state)), from_outside) {
                (true, None) => fate(knob, &state, base),
                (true, Some(fate)) => fate,
                (false, _) => Fate::NotAsked,
            };
            let permanent = knob.permanent(&state, program.map_or(Whose::Program, Facts::whose));
            Candidate { knob, state, fate, permanent }
        };
        // What turns nothing is there for those who name it.
        let is_listed = |one: &Candidate| !one.state.turns_nothing() || one.fate != Fate::NotAsked;
        Self { all: all().map(one).filter(is_listed).collect() }
    }

    /// Those that are to be tried, with their place among all.
    pub(crate) fn tried(&self) -> impl Iterator<Item = (usize, &Candidate)> {
        self.all.iter().enumerate().filter(|(_, one)| one.fate == Fate::Tried)
    }

    /// What is written for those that are to be tried.
    pub(crate) fn writes(&self) -> Vec<SettingWrite> {
        self.tried().flat_map(|(_, one)| one.writes()).collect()
    }

    /// Whether any of those changes the machine.
    pub(crate) fn change_the_machine(&self) -> bool {
        !self.writes().is_empty()
    }

    /// As they are listed before anything is tried.
    pub(crate) fn listed(&self) -> Vec<Listed> {
        self.all.iter().map(Candidate::listed).collect()
    }
}

impl Candidate {
    pub(crate) fn listed(&self) -> Listed {
        Listed {
            knob: self.knob.name,
            scope: self.knob.scope,
            what: self.knob.what,
            from: self.state.from.clone(),
            to: self.state.to.clone(),
            fate: self.fate.clone(),
            writes: self.writes(),
            cost: self.knob.cost,
            permanent: self.permanent.clone(),
        }
    }

    /// What is written for it, if it holds for the machine.
    pub(crate) fn writes(&self) -> Vec<SettingWrite> {
        self.state.change.as_ref().map(writes).unwrap_or_default()
    }
}

/// What a thread has is what the baseline asks for, where it asks.
fn beside(state: State, base: &[Condition]) -> State {
    let (Some(Change::Thread(setting)), Some(first)) = (&state.change, base.first()) else { return state };
    let asked = match setting {
        ThreadSetting::Slack(_) => first.slack_ns.map(|slack| slack.to_string()),
        ThreadSetting::Policy(_) => Some(first.policy.to_string()),
        ThreadSetting::Cpu(_) => first.cpu.map(|cpu| cpu.to_string()),
        ThreadSetting::Wait(_) => Some(first.work.mechanism().to_string()),
        ThreadSetting::Slice(_) | ThreadSetting::Nothing | ThreadSetting::AlreadySo => None,
    };
    State { from: asked.unwrap_or(state.from), ..state }
}

/// What somebody's program has is not what this process has.
fn of_program(state: State, program: Option<&Facts>) -> State {
    let Some(Change::Thread(setting)) = &state.change else { return state };
    let found = program.and_then(|facts| facts.from(setting));
    State { from: found.unwrap_or(state.from), ..state }
}

/// Whether a chosen knob is tried on `base`.
fn fate(knob: &Knob, state: &State, base: &[Condition]) -> Fate {
    match (&state.status, &state.change) {
        (Status::Ready, Some(change)) => of_base(knob, change, base),
        (Status::Ready, None) => Fate::InForce,
        (Status::InForce, _) => Fate::InForce,
        (Status::Absent(reason), _) => Fate::Absent(reason.clone()),
        (Status::NotPermitted(reason), _) => Fate::NotPermitted(reason.clone()),
        (Status::BootOnly, _) => Fate::BootOnly,
        (Status::Left(reason), _) => Fate::NotTried(reason.clone()),
    }
}

fn of_base(knob: &Knob, change: &Change, base: &[Condition]) -> Fate {
    let refused = base.iter().find_map(|condition| altered(condition, knob.name, change).err());
    match refused {
        None => Fate::Tried,
        Some(Unaltered::InForce) => Fate::InForce,
        Some(Unaltered::Without(reason)) => Fate::Absent(reason.to_owned()),
    }
}
