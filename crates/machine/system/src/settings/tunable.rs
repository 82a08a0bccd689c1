//! A tunable: a setting of the kernel that may make wake-ups more punctual, as a row of data, and its state on one machine.

use howlate_model::{PermanentSetting, SettingScope};
use howlate_procfs::{Root, Unreadable};

use crate::settings::boot_loader::boot_remedy;
use crate::settings::change::{Change, ThreadSetting};
use crate::settings::permanent::{AppliesTo, CPU, PermanentText, ways};
use crate::settings::privileges::Privileges;
use crate::settings::writes::Writes;

/// A setting that may make wake-ups more punctual.
pub struct Tunable {
    /// Name on the command line and in JSON.
    pub name: &'static str,
    pub scope: SettingScope,
    /// The effect, in a few words.
    pub what: &'static str,
    /// The price for others: power, throughput, safety.
    pub cost: &'static str,
    /// Reads its state on a machine.
    pub(crate) probe: fn(&Root) -> Probe,
    /// Ways to make it permanent that do not follow from the files written.
    pub(crate) permanent: &'static [PermanentText],
}

/// What reading a machine's files says of a tunable.
pub(crate) enum Probe {
    Changeable {
        from: String,
        to: String,
        change: Change,
    },
    /// It already has the recommended value.
    AsWanted(String),
    /// The machine does not have it, with the reason.
    Absent(String),
    /// It exists, but cannot be read, with the reason.
    NotPermitted(String),
    /// It exists and is never tried, with the reason; `probe` has its state where it can be read.
    NeverTried {
        reason: &'static str,
        probe: Option<Box<Self>>,
    },
}

impl Probe {
    /// A setting of a thread; `from` is its value without the change.
    pub(crate) fn thread(from: impl Into<String>, to: impl Into<String>, setting: ThreadSetting) -> Self {
        Self::Changeable { from: from.into(), to: to.into(), change: Change::Thread(setting) }
    }

    /// One file, to which `value` is written.
    pub(crate) fn file(root: &Root, path: &str, value: &str) -> Self {
        Writes::to_file(root, path, value).map_or_else(|error| Self::from_error(path, error), Self::files)
    }

    /// Existing files.
    pub(crate) fn files(writes: Writes) -> Self {
        if writes.files.is_empty() {
            return Self::Absent("this machine has none of the files for it".to_owned());
        }
        let (from, to) = (writes.current_values(), writes.target_values());
        match writes.is_in_force() {
            true => Self::AsWanted(to),
            false => Self::Changeable { from, to, change: Change::Files(writes) },
        }
    }

    pub(crate) const fn never_tried(reason: &'static str) -> Self {
        Self::NeverTried { reason, probe: None }
    }

    pub(crate) fn but_never_tried(self, reason: &'static str) -> Self {
        Self::NeverTried { reason, probe: Some(Box::new(self)) }
    }

    /// Parameters of the kernel command line.
    pub(crate) fn boot(root: &Root, parameters: impl Into<String>) -> Self {
        let parameters = parameters.into();
        let remedy = boot_remedy(root, &parameters);
        Self::Changeable { from: "not given".to_owned(), to: parameters, change: Change::Boot(remedy) }
    }

    fn from_error(path: &str, error: Unreadable) -> Self {
        match error {
            Unreadable::Missing => Self::Absent(format!("this machine has no {path}")),
            error => Self::NotPermitted(format!("{path}: {error}")),
        }
    }
}

/// Whether a tunable can be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TunableStatus {
    /// This process can change it now.
    Ready,
    /// It already has the recommended value.
    InForce,
    /// The machine does not have it, with the reason.
    Absent(String),
    /// This process may not change it, with what is missing.
    NotPermitted(String),
    /// It takes a restart, so it is never tried.
    BootOnly,
    /// It is never tried, with the reason.
    NeverTried(String),
}

/// The state of a tunable on one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunableState {
    pub status: TunableStatus,
    /// The value now; empty where there is none.
    pub from: String,
    /// The value to try.
    pub to: String,
    /// `None` where there is nothing to change.
    pub change: Option<Change>,
}

impl TunableState {
    /// Whether the change is [`ThreadSetting::Nothing`], which shows the differences that chance alone produces.
    pub const fn changes_nothing(&self) -> bool {
        matches!(self.change, Some(Change::Thread(ThreadSetting::Nothing)))
    }
}

impl Tunable {
    /// Its state on the machine of `root`.
    pub fn state(&self, root: &Root) -> TunableState {
        state((self.probe)(root), root)
    }

    /// How it is made permanent for the threads on which it was tried, and for no others.
    pub fn permanent(&self, state: &TunableState, applies_to: AppliesTo<'_>) -> Vec<PermanentSetting> {
        let tried_value = if state.to.is_empty() { "N" } else { state.to.as_str() };
        let own = self.permanent.iter().filter_map(|text| text.way(applies_to));
        let own = own.map(|way| PermanentSetting { apply: way.apply.replace(CPU, tried_value), ..way });
        own.chain(state.change.iter().flat_map(|change| ways(self.name, change))).collect()
    }
}

fn state(probe: Probe, root: &Root) -> TunableState {
    let unchangeable = |status| TunableState { status, from: String::new(), to: String::new(), change: None };
    match probe {
        Probe::AsWanted(value) => {
            TunableState { from: value.clone(), to: value, ..unchangeable(TunableStatus::InForce) }
        }
        Probe::Absent(reason) => unchangeable(TunableStatus::Absent(reason)),
        Probe::NotPermitted(reason) => unchangeable(TunableStatus::NotPermitted(reason)),
        Probe::NeverTried { reason, probe } => {
            let inner =
                probe.map_or_else(|| unchangeable(TunableStatus::InForce), |probe| state(*probe, root));
            TunableState { status: TunableStatus::NeverTried(reason.to_owned()), ..inner }
        }
        Probe::Changeable { from, to, change } => {
            TunableState { status: permission(root, &change), from, to, change: Some(change) }
        }
    }
}

/// Whether this process may make the change.
fn permission(root: &Root, change: &Change) -> TunableStatus {
    let privileges = Privileges::read(root);
    let missing = match change {
        Change::Boot(_) => return TunableStatus::BootOnly,
        Change::Thread(ThreadSetting::AlreadyInForce) => return TunableStatus::InForce,
        Change::Thread(ThreadSetting::Policy(policy)) => privileges.missing_for_policy(*policy),
        Change::Thread(_) => None,
        Change::Files(writes) => {
            writes.files.iter().find_map(|write| privileges.missing_for_write(root, &write.path))
        }
        Change::Held { path, .. } => privileges.missing_for_write(root, path),
    };
    missing.map_or(TunableStatus::Ready, TunableStatus::NotPermitted)
}
