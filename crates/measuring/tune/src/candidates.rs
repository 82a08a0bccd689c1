//! The settings of this machine: whether each is tried, and what it would change.

use howlate_model::{Condition, PermanentSetting, SettingWrite};
use howlate_procfs::Root;
use howlate_render::{SettingTrial, TrialStatus};
use howlate_system::settings::{AppliesTo, Change, ThreadSetting, Tunable, TunableState, TunableStatus, all};

use crate::condition_with_setting::{NoEffect, with_setting, writes};
use crate::options::SettingSelection;
use crate::thread_facts::ThreadFacts;

/// A setting as it is on this machine.
pub(crate) struct TuneCandidate {
    pub(crate) tunable: &'static Tunable,
    pub(crate) state: TunableState,
    /// [`TrialStatus::Tried`] if it is to be tried.
    pub(crate) fate: TrialStatus,
    pub(crate) permanent: Vec<PermanentSetting>,
}

/// All settings in the order of the list.
pub(crate) struct TuneCandidates {
    pub(crate) all: Vec<TuneCandidate>,
}

impl TuneCandidates {
    /// Looks at every knob; those of `chosen` that can be turned and change `base` are to be tried, from outside where `program`
    /// is measured.
    pub(crate) fn list(
        root: &Root,
        selections: &[SettingSelection],
        base: &[Condition],
        program: Option<&ThreadFacts>,
    ) -> Self {
        let candidate = |tunable: &'static Tunable| {
            let state = with_program_value(with_baseline_value(tunable.state(root), base), program);
            let from_outside =
                program.zip(state.change.as_ref()).and_then(|(facts, change)| facts.fate(change));
            let fate = match (
                selections.iter().any(|selection| selection.includes(tunable, &state)),
                from_outside,
            ) {
                (true, None) => fate(tunable, &state, base),
                (true, Some(fate)) => fate,
                (false, _) => TrialStatus::NotRequested,
            };
            let permanent =
                tunable.permanent(&state, program.map_or(AppliesTo::Program, ThreadFacts::applies_to));
            TuneCandidate { tunable, state, fate, permanent }
        };
        // The one that changes nothing is listed only if it was named.
        let is_listed = |candidate: &TuneCandidate| {
            !candidate.state.changes_nothing() || candidate.fate != TrialStatus::NotRequested
        };
        Self { all: all().map(candidate).filter(is_listed).collect() }
    }

    /// The settings to try, with their index in `all`.
    pub(crate) fn tried(&self) -> impl Iterator<Item = (usize, &TuneCandidate)> {
        self.all.iter().enumerate().filter(|(_, candidate)| candidate.fate == TrialStatus::Tried)
    }

    /// The writes of all settings to try.
    pub(crate) fn writes(&self) -> Vec<SettingWrite> {
        self.tried().flat_map(|(_, candidate)| candidate.writes()).collect()
    }

    pub(crate) fn change_the_machine(&self) -> bool {
        !self.writes().is_empty()
    }

    pub(crate) fn listed(&self) -> Vec<SettingTrial> {
        self.all.iter().map(TuneCandidate::listed).collect()
    }
}

impl TuneCandidate {
    pub(crate) fn listed(&self) -> SettingTrial {
        SettingTrial {
            knob: self.tunable.name,
            scope: self.tunable.scope,
            what: self.tunable.what,
            from: self.state.from.clone(),
            to: self.state.to.clone(),
            status: self.fate.clone(),
            writes: self.writes(),
            cost: self.tunable.cost,
            permanent: self.permanent.clone(),
        }
    }

    /// The writes of a setting of the machine; empty for a thread setting.
    pub(crate) fn writes(&self) -> Vec<SettingWrite> {
        self.state.change.as_ref().map(writes).unwrap_or_default()
    }
}

/// Replaces the current value by the one that the baseline sets.
fn with_baseline_value(state: TunableState, base: &[Condition]) -> TunableState {
    let (Some(Change::Thread(setting)), Some(first)) = (&state.change, base.first()) else { return state };
    let value = match setting {
        ThreadSetting::Slack(_) => first.slack_ns.map(|slack| slack.to_string()),
        ThreadSetting::Policy(_) => Some(first.policy.to_string()),
        ThreadSetting::Cpu(_) => first.cpu.map(|cpu| cpu.to_string()),
        ThreadSetting::Wait(_) => Some(first.work.mechanism().to_string()),
        ThreadSetting::Slice(_) | ThreadSetting::Nothing | ThreadSetting::AlreadyInForce => None,
    };
    TunableState { from: value.unwrap_or(state.from), ..state }
}

/// Replaces the current value of this process by the one of the user's program.
fn with_program_value(state: TunableState, program: Option<&ThreadFacts>) -> TunableState {
    let Some(Change::Thread(setting)) = &state.change else { return state };
    let value = program.and_then(|facts| facts.current_value(setting));
    TunableState { from: value.unwrap_or(state.from), ..state }
}

/// Whether a selected setting is tried on `base`.
fn fate(tunable: &Tunable, state: &TunableState, base: &[Condition]) -> TrialStatus {
    match (&state.status, &state.change) {
        (TunableStatus::Ready, Some(change)) => fate_on(tunable, change, base),
        (TunableStatus::Ready, None) => TrialStatus::InForce,
        (TunableStatus::InForce, _) => TrialStatus::InForce,
        (TunableStatus::Absent(reason), _) => TrialStatus::Absent(reason.clone()),
        (TunableStatus::NotPermitted(reason), _) => TrialStatus::NotPermitted(reason.clone()),
        (TunableStatus::BootOnly, _) => TrialStatus::BootOnly,
        (TunableStatus::NeverTried(reason), _) => TrialStatus::NotTried(reason.clone()),
    }
}

fn fate_on(tunable: &Tunable, change: &Change, base: &[Condition]) -> TrialStatus {
    let no_effect = base.iter().find_map(|condition| with_setting(condition, tunable.name, change).err());
    match no_effect {
        None => TrialStatus::Tried,
        Some(NoEffect::InForce) => TrialStatus::InForce,
        Some(NoEffect::Useless(reason)) => TrialStatus::Absent(reason.to_owned()),
    }
}
