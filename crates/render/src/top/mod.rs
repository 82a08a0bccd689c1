//! What the processes of a machine wait for, as tables and for machines.

mod controls;
mod json;
mod keys;
mod text;
mod words;

use howlate_analyse::waits::{Order, Table, WaitKind, Waiter};
use howlate_model::{Span, TracerRefusal};

pub use controls::{Controls, Pressed};
pub use json::top_schema;
pub use keys::ORDERS;

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
    pub table: Table,
}

/// What of it is shown, and how.
#[derive(Clone, Debug, Default)]
pub struct TopView {
    /// What comes first.
    pub order: Order,
    /// One process and no other: its id or its name.
    pub process: Option<String>,
    /// Waits of these kinds and no others, if there are any.
    pub kinds: Vec<WaitKind>,
    /// Threads rather than processes.
    pub threads: bool,
    /// Rows in which this stands, in capitals or not: in a name, a process's id, or what is waited for; all if it is empty.
    pub filter: String,
    /// Rows that there is room for.
    pub rows: Option<usize>,
}

impl Top {
    /// Who is shown: processes or threads; of one that has ended there are no threads any more.
    fn waiters(&self, view: &TopView) -> Vec<&Waiter> {
        let threads = self.table.threads.iter().filter(|one| self.is_meant(one, view));
        let threads: Vec<&Waiter> = if view.shows_threads() { threads.collect() } else { Vec::new() };
        if !threads.is_empty() {
            return threads;
        }
        self.table.processes.iter().filter(|one| self.is_meant(one, view)).collect()
    }

    /// Whether it is of the process that is meant, which the name of a thread does not say.
    fn is_meant(&self, one: &Waiter, view: &TopView) -> bool {
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
    /// One process is shown by its threads.
    const fn shows_threads(&self) -> bool {
        self.threads || self.process.is_some()
    }
}

/// The kernel cuts names after 15 bytes.
fn is_called(name: &str, wanted: &str) -> bool {
    name == wanted || (name.len() == 15 && wanted.starts_with(name))
}

#[cfg(test)]
mod tests;
