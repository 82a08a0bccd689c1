//! A knob, and what it is on one machine. What it does and costs is said beside what it changes: a knob is a row of data, and its
//! sentences are columns of it.

use howlate_model::{PermanentSetting, SettingScope};
use howlate_procfs::{Root, Unreadable};

use crate::boot_loader::boot_remedy;
use crate::change::{Change, ThreadSetting};
use crate::persistent::{CPU, Text, Whose, ways};
use crate::rights::Rights;
use crate::writes::Writes;

/// A setting that may make wake-ups more punctual.
pub struct Knob {
    /// Its name on the command line and in JSON.
    pub name: &'static str,
    /// What it holds for.
    pub scope: SettingScope,
    /// What it does, in a few words.
    pub what: &'static str,
    /// What it costs others: power, throughput, safety.
    pub cost: &'static str,
    /// What it is on a machine.
    pub(crate) look: fn(&Root) -> Look,
    /// Ways to have it for good that do not follow from what is written.
    pub(crate) texts: &'static [Text],
}

/// What looking at a machine tells of a knob.
pub(crate) enum Look {
    /// It can be turned: the value now and the one wanted, and how.
    Turn { from: String, to: String, change: Change },
    /// It stands as wanted.
    AsWanted(String),
    /// There is no such thing here, and why.
    Absent(String),
    /// It is there, but may not be read.
    Refused(String),
    /// It is there and is never tried, and why; how it would be turned, where that can be said.
    Left { why: &'static str, turn: Option<Box<Self>> },
}

impl Look {
    /// A thread's setting, with the value that it has unless it asks.
    pub(crate) fn thread(from: impl Into<String>, to: impl Into<String>, setting: ThreadSetting) -> Self {
        Self::Turn { from: from.into(), to: to.into(), change: Change::Thread(setting) }
    }

    /// One file that is to hold `value`.
    pub(crate) fn file(root: &Root, path: &str, value: &str) -> Self {
        Writes::to_file(root, path, value).map_or_else(|error| Self::unreadable(path, error), Self::files)
    }

    /// Files that are there.
    pub(crate) fn files(writes: Writes) -> Self {
        if writes.each.is_empty() {
            return Self::Absent("this machine has none of the files for it".to_owned());
        }
        let (from, to) = (writes.values_now(), writes.values_wanted());
        match writes.is_in_force() {
            true => Self::AsWanted(to),
            false => Self::Turn { from, to, change: Change::Files(writes) },
        }
    }

    /// It is there, and howlate never turns it.
    pub(crate) const fn never_turned(why: &'static str) -> Self {
        Self::Left { why, turn: None }
    }

    /// The same, but howlate never turns it.
    pub(crate) fn but(self, why: &'static str) -> Self {
        Self::Left { why, turn: Some(Box::new(self)) }
    }

    /// A word of the kernel's command line.
    pub(crate) fn boot(root: &Root, words: impl Into<String>) -> Self {
        let words = words.into();
        let remedy = boot_remedy(root, &words);
        Self::Turn { from: "not given".to_owned(), to: words, change: Change::Boot(remedy) }
    }

    pub(crate) fn unreadable(path: &str, error: Unreadable) -> Self {
        match error {
            Unreadable::Missing => Self::Absent(format!("this machine has no {path}")),
            error => Self::Refused(format!("{path}: {error}")),
        }
    }
}

/// Whether a knob can be turned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// It can be turned now, by this process.
    Ready,
    /// It is so already.
    InForce,
    /// There is no such thing here.
    Absent(String),
    /// This process may not, and what it takes.
    NotPermitted(String),
    /// Only with a restart, so it is never tried.
    BootOnly,
    /// It is never tried, and why.
    Left(String),
}

/// A knob on one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Whether it can be turned.
    pub status: Status,
    /// The value now; empty where there is none.
    pub from: String,
    /// The value that is to be tried.
    pub to: String,
    /// How it is turned; `None` where there is nothing to turn.
    pub change: Option<Change>,
}

impl State {
    /// Whether turning it changes nothing, to see what chance finds.
    pub const fn turns_nothing(&self) -> bool {
        matches!(self.change, Some(Change::Thread(ThreadSetting::Nothing)))
    }
}

impl Knob {
    /// What it is on the machine that `root` shows.
    pub fn state(&self, root: &Root) -> State {
        state((self.look)(root), root)
    }

    /// How it is turned for good on the machine that `root` shows: for whom it was tried on, and for nobody else.
    pub fn permanent(&self, state: &State, whose: Whose<'_>) -> Vec<PermanentSetting> {
        let tried = if state.to.is_empty() { "N" } else { state.to.as_str() };
        let own = self.texts.iter().filter_map(|text| text.way(whose));
        let own = own.map(|way| PermanentSetting { apply: way.apply.replace(CPU, tried), ..way });
        own.chain(state.change.iter().flat_map(|change| ways(self.name, change))).collect()
    }
}

fn state(look: Look, root: &Root) -> State {
    let nothing = |status| State { status, from: String::new(), to: String::new(), change: None };
    match look {
        Look::AsWanted(value) => State { from: value.clone(), to: value, ..nothing(Status::InForce) },
        Look::Absent(reason) => nothing(Status::Absent(reason)),
        Look::Refused(reason) => nothing(Status::NotPermitted(reason)),
        Look::Left { why, turn } => {
            let turn = turn.map_or_else(|| nothing(Status::InForce), |turn| state(*turn, root));
            State { status: Status::Left(why.to_owned()), ..turn }
        }
        Look::Turn { from, to, change } => {
            State { status: may(root, &change), from, to, change: Some(change) }
        }
    }
}

/// Whether this process may make the change.
fn may(root: &Root, change: &Change) -> Status {
    let rights = Rights::read(root);
    let refused = match change {
        Change::Boot(_) => return Status::BootOnly,
        Change::Thread(ThreadSetting::AlreadySo) => return Status::InForce,
        Change::Thread(ThreadSetting::Policy(policy)) => rights.refuse_policy(*policy),
        Change::Thread(_) => None,
        Change::Files(writes) => writes.each.iter().find_map(|write| rights.refuse_write(root, &write.path)),
        Change::Held { path, .. } => rights.refuse_write(root, path),
    };
    refused.map_or(Status::Ready, Status::NotPermitted)
}
