//! The helper process: becomes a normal program, starts the workers, ends them when its parent is gone.

use std::ffi::CString;
use std::io::{self, Write as _, stdout};

use howlate_linux::helper::{Helper, Lifetime, input_ends_within};
use howlate_linux::{clock, sched, usage};
use howlate_model::{CpuSet, Load, LoadKind, LoadPart, Nice, Policy, Span};

use crate::cpu_time::{cpu_time_of_descendants, cpu_time_with_children};
use crate::scoreboard::Scoreboard;
use crate::share::{STEP, Share};
use crate::workers::Workers;
use crate::{
    awake, cpu, disk, external_program, files, fork, hackbench, interrupt, memory, network, pipe, timers,
};

/// A load's helper process.
pub const HELPER: Helper =
    Helper { role: "__load", name: c"howlate-load", lifetime: Lifetime::OfInput, serve: serve_and_say };

fn serve_and_say(arguments: &[String]) -> io::Result<()> {
    let argument = |place: usize| arguments.get(place).map_or("", String::as_str);
    let served = orders(argument(0), argument(1)).and_then(|(part, cpus)| serve(&part, &cpus));
    if let Err(error) = &served {
        // The parent shows the end of what this process says.
        drop(writeln!(io::stderr(), "{error}"));
    }
    served
}

fn orders(part: &str, cpus: &str) -> io::Result<(LoadPart, CpuSet)> {
    let load: Load = part.parse().map_err(io::Error::other)?;
    let part = load.parts().first().cloned().ok_or(io::ErrorKind::InvalidInput)?;
    Ok((part, cpus.parse().map_err(io::Error::other)?))
}

fn serve(part: &LoadPart, cpus: &CpuSet) -> io::Result<()> {
    rustix::thread::set_name(&comm(part))?;
    become_normal(cpus)?;
    let scoreboard = Scoreboard::open(stdout())?;
    let served = if part.kind.is_from_outside() {
        external_program::serve(part, cpus, &scoreboard)
    } else {
        serve_workers(part, cpus, &scoreboard)
    };
    // All children have been waited for.
    let (own, theirs) = (usage::of_this_thread(), usage::of_ended_children());
    scoreboard.set_cpu_time(
        [own.user, own.system, theirs.user, theirs.system].into_iter().fold(Span::ZERO, Span::plus),
    );
    served
}

/// What others see the load's threads as; the kernel keeps 15 bytes.
fn comm(part: &LoadPart) -> CString {
    CString::new(format!("load-{}", part.kind.name())).unwrap_or_default()
}

fn serve_workers(part: &LoadPart, cpus: &CpuSet, scoreboard: &Scoreboard) -> io::Result<()> {
    let mut share = Share::new(part, counters(part, cpus), cpus);
    share.iter().for_each(|share| scoreboard.set_window(share.window()));
    let mut workers = Workers::new(scoreboard, cpus);
    start(part, &mut workers)?;
    scoreboard.begin(clock::now());
    while !workers.are_done()? {
        if input_ends_within(STEP)? {
            return Ok(());
        }
        if let (Some(share), Some(cpu)) = (&mut share, cpu_time(&part.kind, std::process::id())) {
            share.correct(clock::now(), cpu);
            scoreboard.set_window(share.window());
        }
    }
    Ok(())
}

/// CPU time of all that works for a helper process. The helper itself does not count where it could pass for a program that
/// does nothing.
pub(crate) fn cpu_time(kind: &LoadKind, helper: u32) -> Option<Span> {
    let starts_others = matches!(kind, LoadKind::Fork) || kind.is_from_outside();
    if starts_others { cpu_time_of_descendants(helper) } else { cpu_time_with_children(helper) }
}

/// `other`, nice 0, on the load's CPUs, whatever howlate itself was started with.
fn become_normal(cpus: &CpuSet) -> io::Result<()> {
    sched::set_policy(sched::THIS_THREAD, Policy::OTHER)?;
    // Without the right to become nicer to itself, it stays as nice as howlate is; the parent reads that.
    drop(sched::set_policy(sched::THIS_THREAD, Policy::Other { nice: Nice::new(0) }));
    sched::bind(cpus)?;
    let in_force = sched::affinity()?;
    if in_force == *cpus {
        return Ok(());
    }
    Err(io::Error::other(format!("it was to run on CPU {cpus}, and the kernel gave {in_force}")))
}

fn start(part: &LoadPart, workers: &mut Workers<'_>) -> io::Result<()> {
    let count = counters(part, workers.cpus());
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
        LoadKind::Awake => awake::start(workers, count),
        LoadKind::StressNg { .. } | LoadKind::HackbenchProgram { .. } | LoadKind::Command { .. } => Ok(()),
    }
}

/// How many workers of `part` count what they do on `cpus`.
pub(crate) fn counters(part: &LoadPart, cpus: &CpuSet) -> usize {
    let each = match &part.kind {
        LoadKind::Cpu => cpu::PER_CPU * cpus.len(),
        LoadKind::Disk { .. } => 1,
        LoadKind::Hackbench(size) => hackbench::receivers(*size),
        kind if kind.is_from_outside() => 0,
        _ => cpus.len(),
    };
    part.workers.filter(|_| !part.kind.is_from_outside()).map_or(each, |workers| workers as usize)
}
