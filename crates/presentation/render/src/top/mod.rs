//! What the processes of a machine wait for, as tables and for machines.

mod controls;
mod json;
mod keys;
mod rows;
mod text;
mod wanted;
mod words;

use std::borrow::Cow;
use std::collections::HashMap;

use howlate_analyse::waits::{WaitKind, WaitOrder, WaitTable, WaiterTotals};
use howlate_model::{Span, TracerRefusal};

pub use controls::{Controls, Pressed};
pub use json::top_schema;
pub use keys::ORDERS;
pub use rows::TopRow;

/// What was seen of a while.
#[derive(Clone, Debug)]
pub struct Top {
    /// Where it is known from.
    pub source: &'static str,
    /// Why it is not known from a better source.
    pub refused: Option<TracerRefusal>,
    /// How long the while was.
    pub lasted: Span,
    /// CPUs that are on.
    pub cpus: usize,
    /// What was seen.
    pub table: WaitTable,
    /// The control groups of processes, by their id, where they were looked up.
    pub groups: HashMap<u32, String>,
}

/// What has a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TopBy {
    /// Each process.
    #[default]
    Process,
    /// Each thread.
    Thread,
    /// Each control group.
    Group,
    /// Each process that had a CPU for which others were ready.
    Culprit,
}

impl TopBy {
    /// All.
    pub const ALL: [Self; 4] = [Self::Process, Self::Thread, Self::Group, Self::Culprit];

    /// What a row is of.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Thread => "thread",
            Self::Group => "group",
            Self::Culprit => "culprit",
        }
    }
}

/// What of it is shown, and how.
#[derive(Clone, Debug, Default)]
pub struct TopView {
    /// What comes first.
    pub order: WaitOrder,
    /// One process and no other: its id or its name.
    pub process: Option<String>,
    /// Waits of these kinds and no others, if there are any.
    pub kinds: Vec<WaitKind>,
    /// Processes in this control group, or in those below it, and no others.
    pub group: Option<String>,
    /// What has a row.
    pub by: TopBy,
    /// Rows in which this stands, in capitals or not: in a name, a process's id, or what is waited for; all if it is empty.
    pub filter: String,
    /// Rows that there is room for.
    pub rows: Option<usize>,
    /// More rows than a screen has, and waits as asked or with nothing to do.
    pub details: bool,
}

impl Top {
    /// Who is shown: processes or threads; of one that has ended there are no threads any more.
    fn waiters(&self, view: &TopView) -> Vec<Cow<'_, WaiterTotals>> {
        if view.by == TopBy::Group {
            let group_of = |one: &WaiterTotals| self.group_of(one).filter(|_| self.is_meant(one, view));
            return self.table.by_group(group_of).into_iter().map(Cow::Owned).collect();
        }
        let threads = self.table.threads.iter().filter(|one| self.is_meant(one, view));
        let threads: Vec<Cow<'_, WaiterTotals>> =
            if view.shows_threads() { threads.map(Cow::Borrowed).collect() } else { Vec::new() };
        if !threads.is_empty() {
            return threads;
        }
        let processes = self.table.processes.iter().filter(|one| self.is_meant(one, view));
        processes.map(Cow::Borrowed).collect()
    }

    fn group_of(&self, one: &WaiterTotals) -> Option<&str> {
        self.groups.get(&one.pid?).map(String::as_str)
    }

    /// Whether it is of the group that is meant and of the process.
    fn is_meant(&self, one: &WaiterTotals, view: &TopView) -> bool {
        let is_within = |group: &String| self.group_of(one).is_some_and(|of| is_below(of, group));
        view.group.as_ref().is_none_or(is_within) && self.is_of_process(one, view)
    }

    /// Whether it is of the process that is meant, which the name of a thread does not say.
    fn is_of_process(&self, one: &WaiterTotals, view: &TopView) -> bool {
        let Some(wanted) = &view.process else { return true };
        match (wanted.parse(), one.pid) {
            (Ok(pid), _) => one.pid == Some(pid) || one.tid == Some(pid),
            (Err(_), Some(pid)) if one.tid.is_some() => {
                self.name_of(pid).is_some_and(|name| is_called(name, wanted))
            }
            (Err(_), _) => is_called(&one.name, wanted),
        }
    }

    fn name_of(&self, pid: u32) -> Option<&str> {
        self.table.processes.iter().find(|one| one.pid == Some(pid)).map(|one| one.name.as_str())
    }

    /// Whether the process that is meant was seen.
    pub fn has(&self, view: &TopView) -> bool {
        !self.waiters(view).is_empty()
    }
}

impl TopView {
    /// Whether waits as asked or with nothing to do are to be seen as well.
    fn shows_as_asked(&self) -> bool {
        self.details || self.process.is_some() || !self.kinds.is_empty() || !self.filter.is_empty()
    }

    /// One process is shown by its threads.
    const fn shows_threads(&self) -> bool {
        matches!(self.by, TopBy::Thread) || (self.process.is_some() && matches!(self.by, TopBy::Process))
    }
}

/// Whether a control group is `wanted` or one below it; with the slash that it begins with, or without.
fn is_below(group: &str, wanted: &str) -> bool {
    let [group, wanted] = [group, wanted].map(|path| path.trim_matches('/'));
    let rest = group.strip_prefix(wanted);
    wanted.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The kernel cuts names after 15 bytes.
fn is_called(name: &str, wanted: &str) -> bool {
    name == wanted || (name.len() == 15 && wanted.starts_with(name))
}

#[cfg(test)]
mod tests;
