//! A process and those that it started, and theirs.

use std::fs;

use howlate_linux::process;
use howlate_model::Span;
use rustix::param::clock_ticks_per_second;

/// The children of process `pid`; empty as well where the kernel does not tell (`CONFIG_PROC_CHILDREN`).
///
/// Source: <https://man7.org/linux/man-pages/man5/proc_tid_children.5.html>
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// All that `pid` started, directly or not.
pub(crate) fn descendants(pid: u32) -> Vec<u32> {
    let mut found = children(pid);
    let mut looked_at = 0;
    while let Some(next) = found.get(looked_at).copied() {
        looked_at += 1;
        found.extend(children(next));
    }
    found
}

/// CPU time of `pid` and of its children that still run.
pub(crate) fn cpu_time_with_children(pid: u32) -> Option<Span> {
    let all = std::iter::once(pid).chain(children(pid));
    process::cpu_time(pid).ok()?;
    Some(all.filter_map(|pid| process::cpu_time(pid).ok()).fold(Span::ZERO, Span::plus))
}

/// CPU time of `pid` and of all that it started, those that have ended included.
pub(crate) fn cpu_time_of_all(pid: u32) -> Option<Span> {
    let all = std::iter::once(pid).chain(descendants(pid));
    process::cpu_time(pid).ok()?;
    let of_one = |pid: u32| Some(process::cpu_time(pid).ok()?.plus(of_ended_children(pid)));
    Some(all.filter_map(of_one).fold(Span::ZERO, Span::plus))
}

/// CPU time of children of `pid` that have ended, to a tick (10 ms): `cutime` and `cstime` of `/proc/PID/stat`.
fn of_ended_children(pid: u32) -> Span {
    /// Places after the name, which stands in brackets. Source: proc_pid_stat(5), fields 16 and 17.
    const PLACES: std::ops::Range<usize> = 13..15;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: u64 =
        fields.get(PLACES).into_iter().flatten().filter_map(|field| field.parse::<u64>().ok()).sum();
    Span::from_nanos(ticks * 1_000_000_000 / clock_ticks_per_second().max(1))
}
