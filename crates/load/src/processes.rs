//! CPU time of a process and of those that it started.

use howlate_linux::process;
use howlate_model::Span;
use howlate_procfs::{Root, children, descendants, of_ended_children};

/// CPU time of `pid` and of its children that still run.
pub(crate) fn cpu_time_with_children(pid: u32) -> Option<Span> {
    let all = std::iter::once(pid).chain(children(&Root::live(), pid));
    process::cpu_time(pid).ok()?;
    Some(all.filter_map(|pid| process::cpu_time(pid).ok()).fold(Span::ZERO, Span::plus))
}

/// CPU time of `pid` and of all that it started, those that have ended included.
pub(crate) fn cpu_time_of_all(pid: u32) -> Option<Span> {
    let root = Root::live();
    let all = std::iter::once(pid).chain(descendants(&root, pid));
    process::cpu_time(pid).ok()?;
    let of_one = |pid: u32| Some(process::cpu_time(pid).ok()?.plus(of_ended_children(&root, pid)));
    Some(all.filter_map(of_one).fold(Span::ZERO, Span::plus))
}
