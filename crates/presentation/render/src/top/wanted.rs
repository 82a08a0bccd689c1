//! Which waits have a row: those that somebody asked for, and those that are worth one.

use howlate_analyse::waits::{WaitKind, WaitTotal, WaiterTotals};

use super::TopView;
use super::words::{Rivals, wait};

/// A smaller part of the time of a thread is left out.
pub(super) const WORTH: f64 = 0.001;

/// Who waits, and one of its waits.
pub(super) type Row<'a> = (&'a WaiterTotals, &'a WaitTotal);

/// Whether a wait is one that is wanted, and worth a row.
pub(super) fn is_worth(one: &WaiterTotals, wait: &WaitTotal, view: &TopView) -> bool {
    let is_wanted = view.kinds.is_empty() || view.kinds.contains(&wait.reason.kind);
    let is_asked_for = view.process.is_some() || !view.kinds.is_empty();
    let says = match wait.reason.kind {
        WaitKind::Idle => false,
        WaitKind::NotSeen if one.of_kernel => false,
        WaitKind::NotSeen => wait.share >= WORTH && wait.sum.count > wait.sum.ongoing,
        _ => wait.share >= WORTH,
    };
    is_wanted && (is_asked_for || says)
}

/// Whether `filter` stands in a row.
pub(super) fn has((one, of_it): &Row<'_>, filter: &str) -> bool {
    let is_id = one.pid.is_some_and(|pid| pid.to_string() == filter);
    is_id || format!("{} {}", one.name, wait(of_it, Rivals::Two)).to_lowercase().contains(filter)
}
