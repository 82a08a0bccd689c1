//! CPU time of a process and of those that it started.

use howlate_linux::process;
use howlate_model::Span;
use howlate_procfs::{ProcessStat, Root, children, descendants};

/// CPU time of `pid` and of its children that still run.
pub(crate) fn cpu_time_with_children(pid: u32) -> Option<Span> {
    let all = std::iter::once(pid).chain(children(&Root::live(), pid));
    process::cpu_time(pid).ok()?;
    Some(all.filter_map(|pid| process::cpu_time(pid).ok()).fold(Span::ZERO, Span::plus))
}

/// CPU time of all that `pid` started, directly or not, what has ended included.
pub(crate) fn cpu_time_of_descendants(pid: u32) -> Option<Span> {
    let root = Root::live();
    process::cpu_time(pid).ok()?;
    let of_ended =
        |pid: u32| ProcessStat::read(&root, pid).map_or(Span::ZERO, |stat| stat.ended_children_cpu_time());
    let of_one = |pid: u32| Some(process::cpu_time(pid).ok()?.plus(of_ended(pid)));
    let running = descendants(&root, pid).into_iter().filter_map(of_one);
    Some(running.fold(of_ended(pid), Span::plus))
}
