//! The rows of the table, for the live view with its own columns.

use howlate_analyse::waits::{CpuCulprit, WaitKind, WaitNature, WaitSum, WaitTotal, WaiterTotals};
use howlate_model::Span;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::wording::{self, RivalDetail, wait};
use super::{TopBy, TopReport, TopView};
use crate::numbers::count;
use crate::untrusted_text::legible;

/// Minimum share of a CPU for a row of a thread that only runs.
const RUNS: f64 = 0.01;

/// A wait of a process, or a culprit.
#[derive(Clone, Debug)]
pub struct TopRow {
    /// Identifies the row across updates.
    pub key: u64,
    /// Name of the process, thread or group.
    pub name: String,
    /// The pid, or the tid where rows are threads; `None` for several processes.
    pub id: Option<u32>,
    /// Share of a CPU that it used.
    pub cpu: Option<f64>,
    /// The wait as text; for a culprit, who waited.
    pub what: String,
    /// A shorter form of `what`.
    pub short: String,
    /// `None` where it only ran.
    pub nature: Option<WaitNature>,
    /// Number and durations; zero where unknown.
    pub sum: WaitSum,
    /// Share of the time of its threads; for a culprit, of all waits for a CPU.
    pub share: f64,
    /// Who had the CPU during the wait, or whom the culprit held up; with durations.
    pub counterparts: Vec<(String, Span)>,
    /// Functions of the kernel, innermost first.
    pub functions: Vec<String>,
}

impl TopReport {
    /// One row per wait in the order of `view`; with `idle` also waits as asked.
    pub fn rows(&self, view: &TopView, idle: bool) -> Vec<TopRow> {
        if view.by == TopBy::Culprit {
            return self.table.culprits().iter().map(|culprit| self.of_culprit(culprit)).collect();
        }
        let waiters = self.waiters(view);
        let is_shown = |waiter: &WaiterTotals, wait: &WaitTotal| {
            let is_requested = idle || !view.kinds.is_empty();
            is_worth(waiter, wait, view)
                && (is_requested || wait.reason.kind.nature() != WaitNature::AsAsked)
                && has(&(waiter, wait), &view.filter.to_lowercase())
        };
        let mut all: Vec<(&WaiterTotals, &WaitTotal)> = waiters
            .iter()
            .flat_map(|waiter| waiter.waits.iter().map(move |wait| (waiter.as_ref(), wait)))
            .filter(|(waiter, wait)| is_shown(waiter, wait))
            .collect();
        view.order.sort(&mut all);
        let mut rows: Vec<TopRow> =
            all.into_iter().map(|(waiter, wait)| self.of_wait(waiter, wait, view)).collect();
        let runs = |waiter: &&WaiterTotals| {
            let has_row = |row: &TopRow| row.name == legible(&waiter.name) && row.id == id(waiter, view);
            self.cpu(waiter) >= RUNS && view.kinds.is_empty() && !rows.iter().any(has_row)
        };
        let mut runners: Vec<TopRow> = waiters
            .iter()
            .map(AsRef::as_ref)
            .filter(runs)
            .map(|waiter| self.of_runner(waiter, view))
            .collect();
        runners.sort_by(|row, other_row| other_row.cpu.unwrap_or(0.0).total_cmp(&row.cpu.unwrap_or(0.0)));
        rows.extend(runners);
        rows
    }

    /// Share of a CPU that its threads used.
    fn cpu(&self, waiter: &WaiterTotals) -> f64 {
        waiter.ran().as_secs_f64() / self.lasted.as_secs_f64().max(1e-9)
    }

    fn of_wait(&self, waiter: &WaiterTotals, wait: &WaitTotal, view: &TopView) -> TopRow {
        TopRow {
            key: key(&(&waiter.name, waiter.pid, waiter.tid, &wait.reason)),
            name: legible(&waiter.name).into_owned(),
            id: id(waiter, view),
            cpu: Some(self.cpu(waiter)),
            what: wording::wait(wait, RivalDetail::Two),
            short: wording::wait(wait, RivalDetail::Name),
            nature: Some(wait.reason.kind.nature()),
            sum: wait.sum,
            share: wait.share,
            counterparts: wait.behind.iter().map(|behind| (wording::rival(behind), behind.time)).collect(),
            functions: wait.functions.iter().map(|function| legible(function).into_owned()).collect(),
        }
    }

    /// The row of a thread that hardly waits.
    fn of_runner(&self, waiter: &WaiterTotals, view: &TopView) -> TopRow {
        TopRow {
            key: key(&(&waiter.name, waiter.pid, waiter.tid)),
            name: legible(&waiter.name).into_owned(),
            id: id(waiter, view),
            cpu: Some(self.cpu(waiter)),
            what: "runs".to_owned(),
            short: "runs".to_owned(),
            nature: None,
            sum: WaitSum::default(),
            share: 0.0,
            counterparts: Vec::new(),
            functions: Vec::new(),
        }
    }

    fn of_culprit(&self, culprit: &CpuCulprit) -> TopRow {
        let of = |pid: u32| self.table.processes.iter().find(|process| process.pid == Some(pid));
        let name = wording::name(&culprit.who).into_owned();
        let waiters: Vec<String> = culprit.waiters.iter().take(2).map(wording::rival).collect();
        let more = match culprit.waiters.len().saturating_sub(2) {
            0 => String::new(),
            more => format!(" and {} more", count(more as u64)),
        };
        TopRow {
            key: key(&("culprit", &culprit.who.name)),
            name,
            id: culprit.who.pid,
            cpu: culprit.who.pid.and_then(of).map(|process| self.cpu(process)),
            what: format!("{}{more}", waiters.join(", ")),
            short: format!("{}{more}", waiters.iter().take(1).cloned().collect::<String>()),
            nature: Some(WaitNature::HeldUp),
            sum: WaitSum {
                time: culprit.who.time,
                count: culprit.waiters.len() as u64,
                ..WaitSum::default()
            },
            share: culprit.share,
            counterparts: culprit
                .waiters
                .iter()
                .map(|waiter| (wording::rival(waiter), waiter.time))
                .collect(),
            functions: Vec::new(),
        }
    }
}

/// The tid where rows are threads, otherwise the pid.
fn id(waiter: &WaiterTotals, view: &TopView) -> Option<u32> {
    waiter.tid.filter(|_| view.shows_threads()).or(waiter.pid)
}

fn key(identity: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    identity.hash(&mut hasher);
    hasher.finish()
}

/// Minimum share of a thread's time for a row.
pub(super) const WORTH: f64 = 0.001;

/// A process or thread, and one of its waits.
pub(super) type WaiterWait<'a> = (&'a WaiterTotals, &'a WaitTotal);

/// Whether a wait is selected and significant enough for a row.
pub(super) fn is_worth(waiter: &WaiterTotals, wait: &WaitTotal, view: &TopView) -> bool {
    let is_selected = view.kinds.is_empty() || view.kinds.contains(&wait.reason.kind);
    let is_requested = view.process.is_some() || !view.kinds.is_empty();
    let is_significant = match wait.reason.kind {
        WaitKind::Idle => false,
        WaitKind::NotSeen if waiter.of_kernel => false,
        WaitKind::NotSeen => wait.share >= WORTH && wait.sum.count > wait.sum.ongoing,
        _ => wait.share >= WORTH,
    };
    is_selected && (is_requested || is_significant)
}

/// Whether the row contains `filter`.
pub(super) fn has((waiter, waited): &WaiterWait<'_>, filter: &str) -> bool {
    let is_id = waiter.pid.is_some_and(|pid| pid.to_string() == filter);
    is_id || format!("{} {}", waiter.name, wait(waited, RivalDetail::Two)).to_lowercase().contains(filter)
}
