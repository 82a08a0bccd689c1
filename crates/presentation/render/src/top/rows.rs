//! The same as rows, for a screen that has columns of its own.

use std::hash::{DefaultHasher, Hash, Hasher};

use howlate_analyse::waits::{CpuCulprit, WaitNature, WaitSum, WaitTotal, WaiterTotals};
use howlate_model::Span;

use super::wanted::{has, is_worth};
use super::words::{self, Rivals};
use super::{Top, TopBy, TopView};
use crate::numbers::count;
use crate::untrusted_text::legible;

/// Less of a CPU than this is no row of its own.
const RUNS: f64 = 0.01;

/// Who waits for what, or who had the CPU meanwhile.
#[derive(Clone, Debug)]
pub struct TopRow {
    /// The same from one moment to the next.
    pub key: u64,
    /// Who: a process, a thread, a group.
    pub name: String,
    /// The process, or the thread where rows are of threads; `None` of several.
    pub id: Option<u32>,
    /// The part of a CPU that it had.
    pub cpu: Option<f64>,
    /// What it waits for; of a culprit, who waited.
    pub what: String,
    /// The same with less of who had the CPU.
    pub short: String,
    /// What the wait means; `None` where it only ran.
    pub nature: Option<WaitNature>,
    /// How often and how long; nothing where that is not known.
    pub sum: WaitSum,
    /// The part of the time: of its threads; of a culprit, of all waits for a CPU.
    pub share: f64,
    /// Who had the CPU meanwhile, or whom a culprit held up: its name, and for how long.
    pub others: Vec<(String, Span)>,
    /// Where in the kernel, the innermost function first.
    pub functions: Vec<String>,
}

impl Top {
    /// A row for each wait, what a person wants to see first coming first; with `idle` also of those that wait as they asked to.
    pub fn rows(&self, view: &TopView, idle: bool) -> Vec<TopRow> {
        if view.by == TopBy::Culprit {
            return self.table.culprits().iter().map(|one| self.of_culprit(one)).collect();
        }
        let waiters = self.waiters(view);
        let is_shown = |one: &WaiterTotals, wait: &WaitTotal| {
            let is_asked_for = idle || !view.kinds.is_empty();
            is_worth(one, wait, view)
                && (is_asked_for || wait.reason.kind.nature() != WaitNature::AsAsked)
                && has(&(one, wait), &view.filter.to_lowercase())
        };
        let mut all: Vec<(&WaiterTotals, &WaitTotal)> = waiters
            .iter()
            .flat_map(|one| one.waits.iter().map(move |wait| (one.as_ref(), wait)))
            .filter(|(one, wait)| is_shown(one, wait))
            .collect();
        view.order.sort(&mut all);
        let mut rows: Vec<TopRow> =
            all.into_iter().map(|(one, wait)| self.of_wait(one, wait, view)).collect();
        let runs = |one: &&WaiterTotals| {
            let has_row = |row: &TopRow| row.name == legible(&one.name) && row.id == id(one, view);
            self.cpu(one) >= RUNS && view.kinds.is_empty() && !rows.iter().any(has_row)
        };
        let mut only: Vec<TopRow> =
            waiters.iter().map(AsRef::as_ref).filter(runs).map(|one| self.of_runner(one, view)).collect();
        only.sort_by(|one, other| other.cpu.unwrap_or(0.0).total_cmp(&one.cpu.unwrap_or(0.0)));
        rows.extend(only);
        rows
    }

    /// The part of a CPU that its threads had.
    fn cpu(&self, one: &WaiterTotals) -> f64 {
        one.ran().as_secs_f64() / self.lasted.as_secs_f64().max(1e-9)
    }

    fn of_wait(&self, one: &WaiterTotals, wait: &WaitTotal, view: &TopView) -> TopRow {
        TopRow {
            key: key(&(&one.name, one.pid, one.tid, &wait.reason)),
            name: legible(&one.name).into_owned(),
            id: id(one, view),
            cpu: Some(self.cpu(one)),
            what: words::wait(wait, Rivals::Two),
            short: words::wait(wait, Rivals::Name),
            nature: Some(wait.reason.kind.nature()),
            sum: wait.sum,
            share: wait.share,
            others: wait.behind.iter().map(|one| (words::rival(one), one.time)).collect(),
            functions: wait.functions.iter().map(|function| legible(function).into_owned()).collect(),
        }
    }

    /// One that does not wait, to speak of.
    fn of_runner(&self, one: &WaiterTotals, view: &TopView) -> TopRow {
        TopRow {
            key: key(&(&one.name, one.pid, one.tid)),
            name: legible(&one.name).into_owned(),
            id: id(one, view),
            cpu: Some(self.cpu(one)),
            what: "runs".to_owned(),
            short: "runs".to_owned(),
            nature: None,
            sum: WaitSum::default(),
            share: 0.0,
            others: Vec::new(),
            functions: Vec::new(),
        }
    }

    fn of_culprit(&self, one: &CpuCulprit) -> TopRow {
        let of = |pid: u32| self.table.processes.iter().find(|process| process.pid == Some(pid));
        let name = words::name(&one.who).into_owned();
        let waiters: Vec<String> = one.waiters.iter().take(2).map(words::rival).collect();
        let more = match one.waiters.len().saturating_sub(2) {
            0 => String::new(),
            more => format!(" and {} more", count(more as u64)),
        };
        TopRow {
            key: key(&("culprit", &one.who.name)),
            name,
            id: one.who.pid,
            cpu: one.who.pid.and_then(of).map(|process| self.cpu(process)),
            what: format!("{}{more}", waiters.join(", ")),
            short: format!("{}{more}", waiters.iter().take(1).cloned().collect::<String>()),
            nature: Some(WaitNature::HeldUp),
            sum: WaitSum { time: one.who.time, count: one.waiters.len() as u64, ..WaitSum::default() },
            share: one.share,
            others: one.waiters.iter().map(|one| (words::rival(one), one.time)).collect(),
            functions: Vec::new(),
        }
    }
}

/// The thread where rows are of threads, the process otherwise.
fn id(one: &WaiterTotals, view: &TopView) -> Option<u32> {
    one.tid.filter(|_| view.shows_threads()).or(one.pid)
}

fn key(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}
