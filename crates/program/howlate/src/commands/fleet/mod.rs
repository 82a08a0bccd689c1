//! `howlate fleet`: measures on several machines.

mod collecting;
mod submission;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use howlate_fleet::{Fleet, FleetPods, FleetWait, NodeStatus, Scheduler, WaitEvent};
use howlate_model::shell_path;
use howlate_render::Screen;

use self::collecting::{collect, print_states};
use self::submission::Submission;
use super::reading;
use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::startup::on_interrupt;
use crate::terminal;
use howlate_cli::{FleetArgs, FleetCommand, FleetRunArgs, SlurmArgs};

pub(crate) fn run(args: &FleetArgs) -> Result<ExitStatus, Error> {
    match &args.command {
        FleetCommand::Run(run) if run.dry_run => dry_run(run),
        FleetCommand::Run(run) => start(run),
        FleetCommand::Status { folder, json } => {
            let (fleet, scheduler) = Fleet::open_with_scheduler(folder, &Arc::default())?;
            print_states(&fleet, &fleet.states(scheduler.as_ref())?, *json)
        }
        FleetCommand::Collect { folder, json } => {
            let (mut fleet, scheduler) = Fleet::open_with_scheduler(folder, &Arc::default())?;
            collect(&mut fleet, scheduler.as_ref(), folder, *json)
        }
        FleetCommand::Cancel { folder } => cancel(folder),
    }
}

fn dry_run(args: &FleetRunArgs) -> Result<ExitStatus, Error> {
    let submission = Submission::check(args)?;
    let fleet = submission.fleet(args, &Arc::default())?;
    let commands =
        args.on.scheduler(&fleet, args.at_once, &Arc::default()).dry_run(&fleet, submission.plan.as_deref());
    terminal::print(&format!("{}{commands}", submission.dry_run(&fleet)))?;
    Ok(ExitStatus::Done)
}

fn start(args: &FleetRunArgs) -> Result<ExitStatus, Error> {
    let interrupted = on_interrupt()?;
    let folder = folder(args);
    let (mut fleet, scheduler) = match args.resume {
        true => resume(&folder, args, &interrupted)?,
        false => start_new(args, &interrupted)?,
    };
    if args.detach || !wait(&fleet, scheduler.as_ref(), args.quiet, &interrupted)? {
        let folder = shell_path(&folder);
        terminal::eprint(&format!(
            "The nodes go on. To fetch what they find: howlate fleet collect {folder}\nTo end them: howlate fleet cancel {folder}\n"
        ));
        let is_all = args.detach && fleet.open_nodes().len() == fleet.members.len();
        return Ok(if is_all { ExitStatus::Done } else { ExitStatus::NotTrustworthy });
    }
    collect(&mut fleet, scheduler.as_ref(), &folder, args.json)
}

/// Waits for all nodes; `false` if it was interrupted.
fn wait(
    fleet: &Fleet,
    scheduler: &dyn Scheduler,
    quiet: bool,
    interrupted: &AtomicBool,
) -> Result<bool, Error> {
    let mut screen = terminal::screen(quiet);
    let all_done = FleetWait::begin(fleet, scheduler, &mut |event| print_event(event, &mut screen))
        .until_over(interrupted)?;
    screen.iter_mut().for_each(|screen| screen.clear());
    Ok(all_done)
}

/// Shows an event of waiting for nodes.
fn print_event(event: WaitEvent, screen: &mut Option<Box<dyn Screen>>) {
    match event {
        WaitEvent::Progress(text) => screen.iter_mut().for_each(|screen| screen.show(&text)),
        WaitEvent::TooLong { node, most } => {
            terminal::eprint_wrapped(&format!("{node} is not done after {most} and is cancelled.\n"));
        }
        WaitEvent::NotCancelled { node, reason } => {
            terminal::eprint_wrapped(&format!("{node} is not cancelled: {reason}\n"));
        }
    }
}

/// Creates a fleet and starts its nodes.
fn start_new(
    args: &FleetRunArgs,
    interrupted: &Arc<AtomicBool>,
) -> Result<(Fleet, Box<dyn Scheduler>), Error> {
    let submission = Submission::check(args)?;
    let program = submission.program.as_ref().map(|program| program.path.as_path());
    let mut fleet = submission.fleet(args, interrupted)?.create(program, submission.plan.as_deref())?;
    let scheduler = args.on.scheduler(&fleet, args.at_once, interrupted);
    let all = fleet.open_nodes();
    scheduler.start(&mut fleet, &all, interrupted)?;
    Ok((fleet, scheduler))
}

/// Starts an existing fleet again: the nodes that have ended without a result.
fn resume(
    folder: &Path,
    args: &FleetRunArgs,
    interrupted: &Arc<AtomicBool>,
) -> Result<(Fleet, Box<dyn Scheduler>), Error> {
    let (mut fleet, scheduler) = Fleet::open_with_scheduler(folder, interrupted)?;
    submission::check_same_fleet(&fleet, args)?;
    let states = fleet.states(scheduler.as_ref())?;
    let is_missing = |state: &NodeStatus| state.is_over() && !matches!(state, NodeStatus::Done { .. });
    let missing: Vec<usize> = (0..states.len()).filter(|node| is_missing(&states[*node])).collect();
    fleet.at_once = args.at_once;
    // The placement stays: pods started before are looked up there.
    let placement = fleet.pods.as_ref().map(|pods| pods.placement.clone()).unwrap_or_default();
    let pods = submission::pods_of(args, fleet.pods.as_ref().is_some_and(|pods| pods.is_traced))?;
    fleet.pods = pods.map(|pods| FleetPods { placement, ..pods });
    let slurm = submission::slurm_of(args)?;
    if args.slurm != SlurmArgs::default() {
        fleet.slurm = slurm;
    }
    fleet.timeout_s = args.timeout.map(|most| most.as_nanos().div_ceil(1_000_000_000));
    missing.iter().for_each(|node| fleet.members[*node].ended = None);
    scheduler.start(&mut fleet, &missing, interrupted)?;
    Ok((fleet, scheduler))
}

fn folder(args: &FleetRunArgs) -> PathBuf {
    let default_folder = || {
        let stem = args.plan.file_stem().unwrap_or_default().to_string_lossy();
        PathBuf::from(format!("{stem}-fleet"))
    };
    args.folder.clone().unwrap_or_else(default_folder)
}

/// Cancels the nodes that still run.
fn cancel(folder: &Path) -> Result<ExitStatus, Error> {
    let (fleet, scheduler) = Fleet::open_with_scheduler(folder, &Arc::default())?;
    let mut print_event = |event| print_event(event, &mut None);
    let is_all = howlate_fleet::cancel(&fleet, scheduler.as_ref(), &fleet.open_nodes(), &mut print_event)?;
    terminal::eprint(&format!("To fetch what was measured: howlate fleet collect {}\n", shell_path(folder)));
    Ok(if is_all { ExitStatus::Done } else { ExitStatus::NotTrustworthy })
}
