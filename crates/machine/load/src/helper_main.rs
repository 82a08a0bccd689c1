//! The helper process of a load: resets its own scheduling, starts the workers, and ends them when its parent ends.

use std::ffi::CString;
use std::io::{self, Write as _, stdout};

use howlate_linux::helper::{Helper, Lifetime, input_ends_within};
use howlate_linux::{clock, process, sched, usage};
use howlate_model::{CpuSet, Load, LoadKind, LoadPart, Nice, Policy, Span};
use howlate_procfs::{ProcessStat, Root, children, descendants};

use crate::scoreboard::Scoreboard;
use crate::share::{CONTROL_INTERVAL, ShareControl};
use crate::workers::Workers;
use crate::{cpu, disk, external_program, files, fork, hackbench, interrupt, memory, network, pipe, timers};

/// A load's helper process.
pub const HELPER: Helper =
    Helper { role: "__load", name: c"howlate-load", lifetime: Lifetime::OfInput, serve: serve_and_report };

fn serve_and_report(arguments: &[String]) -> io::Result<()> {
    let argument = |index: usize| arguments.get(index).map_or("", String::as_str);
    let result = parse_arguments(argument(0), argument(1)).and_then(|(part, cpus)| serve(&part, &cpus));
    if let Err(error) = &result {
        // The parent shows the last line of this process's standard error.
        drop(writeln!(io::stderr(), "{error}"));
    }
    result
}

fn parse_arguments(part: &str, cpus: &str) -> io::Result<(LoadPart, CpuSet)> {
    let load: Load = part.parse().map_err(io::Error::other)?;
    let part = load.parts().first().cloned().ok_or(io::ErrorKind::InvalidInput)?;
    Ok((part, cpus.parse().map_err(io::Error::other)?))
}

fn serve(part: &LoadPart, cpus: &CpuSet) -> io::Result<()> {
    rustix::thread::set_name(&comm(part))?;
    reset_scheduling(cpus)?;
    let scoreboard = Scoreboard::open(stdout())?;
    let result = if part.kind.is_from_outside() {
        external_program::serve(part, cpus, &scoreboard)
    } else {
        serve_workers(part, cpus, &scoreboard)
    };
    // `of_ended_children` is complete: all children have been waited for.
    let (own, children) = (usage::of_this_thread(), usage::of_ended_children());
    scoreboard.set_cpu_time(
        [own.user, own.system, children.user, children.system].into_iter().fold(Span::ZERO, Span::plus),
    );
    result
}

/// Thread name; the kernel keeps 15 bytes.
fn comm(part: &LoadPart) -> CString {
    CString::new(format!("load-{}", part.kind.name())).unwrap_or_default()
}

fn serve_workers(part: &LoadPart, cpus: &CpuSet, scoreboard: &Scoreboard) -> io::Result<()> {
    let mut share = ShareControl::new(part, counter_count(part, cpus), cpus);
    share.iter().for_each(|share| scoreboard.set_window(share.window()));
    let mut workers = Workers::new(scoreboard, cpus);
    start(part, &mut workers)?;
    scoreboard.start(clock::now());
    while !workers.are_done()? {
        if input_ends_within(CONTROL_INTERVAL)? {
            return Ok(());
        }
        if let (Some(share), Some(cpu)) = (&mut share, cpu_time(&part.kind, std::process::id())) {
            share.update(clock::now(), cpu);
            scoreboard.set_window(share.window());
        }
    }
    Ok(())
}

/// CPU time of all processes of a load. For loads whose processes start others the helper itself does not count, as otherwise a
/// program that does nothing would seem to use CPU time.
pub(crate) fn cpu_time(kind: &LoadKind, helper: u32) -> Option<Span> {
    let has_descendants = matches!(kind, LoadKind::Fork) || kind.is_from_outside();
    if has_descendants { cpu_time_of_descendants(helper) } else { cpu_time_with_children(helper) }
}

/// CPU time of `pid` and its running children.
fn cpu_time_with_children(pid: u32) -> Option<Span> {
    let pids = std::iter::once(pid).chain(children(&Root::live(), pid));
    process::cpu_time(pid).ok()?;
    Some(pids.filter_map(|pid| process::cpu_time(pid).ok()).fold(Span::ZERO, Span::plus))
}

/// CPU time of all descendants of `pid`, including those that have ended.
fn cpu_time_of_descendants(pid: u32) -> Option<Span> {
    let root = Root::live();
    process::cpu_time(pid).ok()?;
    let ended_children =
        |pid: u32| ProcessStat::read(&root, pid).map_or(Span::ZERO, |stat| stat.ended_children_cpu_time());
    let process_and_ended = |pid: u32| Some(process::cpu_time(pid).ok()?.plus(ended_children(pid)));
    let running = descendants(&root, pid).into_iter().filter_map(process_and_ended);
    Some(running.fold(ended_children(pid), Span::plus))
}

/// Sets `other`, nice 0 and the load's CPUs, whatever howlate itself was started with.
fn reset_scheduling(cpus: &CpuSet) -> io::Result<()> {
    sched::set_policy(sched::THIS_THREAD, Policy::OTHER)?;
    // Without the right to lower it, howlate's nice value stays; the parent reports that.
    drop(sched::set_policy(sched::THIS_THREAD, Policy::Other { nice: Nice::new(0) }));
    sched::bind(cpus)?;
    let in_force = sched::affinity()?;
    if in_force == *cpus {
        return Ok(());
    }
    Err(io::Error::other(format!("it was to run on CPU {cpus}, and the kernel gave {in_force}")))
}

fn start(part: &LoadPart, workers: &mut Workers<'_>) -> io::Result<()> {
    let count = counter_count(part, workers.cpus());
    match &part.kind {
        LoadKind::Cpu => cpu::start(workers, count),
        LoadKind::Pipe => pipe::start(workers, count),
        LoadKind::Interrupt => interrupt::start(workers, count),
        LoadKind::Hackbench(size) => hackbench::start(workers, *size),
        LoadKind::Memory => memory::start(workers, count),
        LoadKind::Disk { folder } => disk::start(workers, count, folder.as_deref()),
        LoadKind::Files { folder } => files::start(workers, count, folder.as_deref()),
        LoadKind::Network => network::start(workers, count),
        LoadKind::Fork => fork::start(workers, count),
        LoadKind::Timers => timers::start(workers, count),
        LoadKind::Awake => cpu::start_awake(workers, count),
        LoadKind::StressNg { .. } | LoadKind::HackbenchProgram { .. } | LoadKind::Command { .. } => Ok(()),
    }
}

/// Number of workers of `part` on `cpus` that count their operations.
pub(crate) fn counter_count(part: &LoadPart, cpus: &CpuSet) -> usize {
    let default = match &part.kind {
        LoadKind::Cpu => cpu::PER_CPU * cpus.len(),
        LoadKind::Disk { .. } => 1,
        LoadKind::Hackbench(size) => hackbench::receivers(*size),
        kind if kind.is_from_outside() => 0,
        _ => cpus.len(),
    };
    part.workers.filter(|_| !part.kind.is_from_outside()).map_or(default, |workers| workers as usize)
}
