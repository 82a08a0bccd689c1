//! The kernel's watch over itself.

use crate::settings::WATCHDOGS_FILE;
use howlate_model::{CpuSet, Finding, FindingId, Verdict};
use howlate_procfs::{Root, read_cpu_list};

use super::draft::finding;

/// A timer on every watched CPU, five times in two thresholds.
///
/// Source: `Documentation/admin-guide/lockup-watchdogs.rst`.
pub(super) fn examine(root: &Root) -> Option<Finding> {
    let (switch, hard) = (root.reading(WATCHDOGS_FILE), root.reading("/proc/sys/kernel/nmi_watchdog"));
    let threshold = root.reading("/proc/sys/kernel/watchdog_thresh");
    let seconds = threshold.number::<u32>().unwrap_or(10);
    let on = switch.text()? != "0" && seconds > 0;
    let every = f64::from(seconds) * 2.0 / 5.0;
    let by_nmi = if hard.text() == Some("1") { ", and a counter raises NMIs" } else { "" };
    let online = read_cpu_list(root, "/sys/devices/system/cpu/online");
    let mask = root.reading("/proc/sys/kernel/watchdog_cpumask");
    let watched: Option<CpuSet> = mask.text().and_then(|list| list.parse().ok());
    let watched = watched.filter(|watched| !online.without(watched).is_empty());
    let place = watched.map_or_else(|| "each CPU".to_owned(), |watched| format!("CPUs {watched}"));
    let found = if on {
        format!("the lockup watchdogs run a timer every {every} s on {place}{by_nmi}")
    } else {
        "the lockup watchdogs are off".to_owned()
    };
    let verdict = if on { Verdict::Note } else { Verdict::Good };
    let draft = finding(FindingId::Watchdogs, verdict, found)
        .seen(&switch)
        .seen(&hard)
        .seen(&threshold)
        .seen(&mask)
        .why(
            "They interrupt each CPU they watch for a short time, and report a kernel that hangs. \
            Switch them off only for the length of a measurement.",
        );
    Some(draft.when(on, |draft| draft.turn_for_now(root, "watchdogs")).end())
}
