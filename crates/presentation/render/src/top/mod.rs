//! What the processes of a machine wait for, as tables and JSON.

mod controls;
mod json;
mod rows;
mod text;
mod wording;

use std::borrow::Cow;
use std::collections::HashMap;

use howlate_analyse::waits::{WaitKind, WaitOrder, WaitTable, WaiterTotals};
use howlate_model::{Span, TracerRefusal};

pub use controls::ORDERS;
pub use controls::{KeyEffect, TopControls};
pub use json::top_schema;
pub use rows::TopRow;

/// The waits of a period of time.
#[derive(Clone, Debug)]
pub struct TopReport {
    /// `bpf` or `proc`.
    pub source: &'static str,
    /// Why the better source cannot be used.
    pub refused: Option<TracerRefusal>,
    /// Length of the period.
    pub lasted: Span,
    /// CPUs that are online.
    pub cpus: usize,
    /// Waits by process and thread.
    pub table: WaitTable,
    /// Control groups by process id, if they were looked up.
    pub groups: HashMap<u32, String>,
}

/// What a row is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TopBy {
    #[default]
    Process,
    Thread,
    Group,
    /// Each process that had a CPU for which others were ready.
    Culprit,
}

impl TopBy {
    /// In the order of the documentation.
    pub const ALL: [Self; 4] = [Self::Process, Self::Thread, Self::Group, Self::Culprit];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Thread => "thread",
            Self::Group => "group",
            Self::Culprit => "culprit",
        }
    }
}

/// Selection and order of the rows.
#[derive(Clone, Debug, Default)]
pub struct TopView {
    /// Order of the rows.
    pub order: WaitOrder,
    /// Only this process, by id or name.
    pub process: Option<String>,
    /// Only waits of these kinds; empty: all.
    pub kinds: Vec<WaitKind>,
    /// Only processes in this control group or below it.
    pub group: Option<String>,
    /// What a row is about.
    pub by: TopBy,
    /// Only rows that contain this, ignoring case, in the name, pid or reason; empty: all.
    pub filter: String,
    /// Rows that fit the screen.
    pub rows: Option<usize>,
    /// With `--details`: more rows, and waits of sleeping and idle threads.
    pub details: bool,
}

impl TopReport {
    /// Processes or threads, as selected. Ended processes have no threads any more.
    fn waiters(&self, view: &TopView) -> Vec<Cow<'_, WaiterTotals>> {
        if view.by == TopBy::Group {
            let group_of =
                |waiter: &WaiterTotals| self.group_of(waiter).filter(|_| self.is_selected(waiter, view));
            return self.table.by_group(group_of).into_iter().map(Cow::Owned).collect();
        }
        let threads = self.table.threads.iter().filter(|waiter| self.is_selected(waiter, view));
        let threads: Vec<Cow<'_, WaiterTotals>> =
            if view.shows_threads() { threads.map(Cow::Borrowed).collect() } else { Vec::new() };
        if !threads.is_empty() {
            return threads;
        }
        let processes = self.table.processes.iter().filter(|waiter| self.is_selected(waiter, view));
        processes.map(Cow::Borrowed).collect()
    }

    fn group_of(&self, waiter: &WaiterTotals) -> Option<&str> {
        self.groups.get(&waiter.pid?).map(String::as_str)
    }

    /// Whether the process or thread is in the selected group and process.
    fn is_selected(&self, waiter: &WaiterTotals, view: &TopView) -> bool {
        let is_within =
            |group: &String| self.group_of(waiter).is_some_and(|own_group| is_below(own_group, group));
        view.group.as_ref().is_none_or(is_within) && self.is_of_process(waiter, view)
    }

    /// Whether the process or thread is of the selected process; threads may have other names.
    fn is_of_process(&self, waiter: &WaiterTotals, view: &TopView) -> bool {
        let Some(selected) = &view.process else { return true };
        match (selected.parse(), waiter.pid) {
            (Ok(pid), _) => waiter.pid == Some(pid) || waiter.tid == Some(pid),
            (Err(_), Some(pid)) if waiter.tid.is_some() => {
                self.name_of(pid).is_some_and(|name| is_called(name, selected))
            }
            (Err(_), _) => is_called(&waiter.name, selected),
        }
    }

    fn name_of(&self, pid: u32) -> Option<&str> {
        self.table
            .processes
            .iter()
            .find(|process| process.pid == Some(pid))
            .map(|process| process.name.as_str())
    }

    /// Whether the selected process was seen.
    pub fn has(&self, view: &TopView) -> bool {
        !self.waiters(view).is_empty()
    }
}

impl TopView {
    /// Whether waits of sleeping and idle threads are shown.
    fn shows_as_asked(&self) -> bool {
        self.details || self.process.is_some() || !self.kinds.is_empty() || !self.filter.is_empty()
    }

    /// A single process is shown by its threads.
    const fn shows_threads(&self) -> bool {
        matches!(self.by, TopBy::Thread) || (self.process.is_some() && matches!(self.by, TopBy::Process))
    }
}

/// Whether a control group is `parent` or below it, with or without the leading slash.
fn is_below(group: &str, parent: &str) -> bool {
    let [group, parent] = [group, parent].map(|path| path.trim_matches('/'));
    let rest = group.strip_prefix(parent);
    parent.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Compares names; the kernel cuts them to 15 bytes.
fn is_called(name: &str, full_name: &str) -> bool {
    name == full_name || (name.len() == 15 && full_name.starts_with(name))
}

#[cfg(test)]
mod tests;
