//! `howlate fleet`

mod collecting;
mod submission;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use howlate_fleet::{Fleet, Pods, Scheduler, State, WaitEvent, Waiting};
use howlate_model::shell_path;
use howlate_render::Screen;

use self::collecting::{collect, print_states};
use self::submission::Sent;
use super::reading;
use crate::error::Error;
use crate::exit_status::Status;
use crate::startup::on_interrupt;
use crate::terminal;
use howlate_cli::{FleetArgs, FleetCommand, FleetRunArgs, SlurmArgs};

pub(crate) fn run(asked: &FleetArgs) -> Result<Status, Error> {
    match &asked.command {
        FleetCommand::Run(asked) if asked.dry_run => dry_run(asked),
        FleetCommand::Run(asked) => start(asked),
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

fn dry_run(asked: &FleetRunArgs) -> Result<Status, Error> {
    let sent = Sent::check(asked)?;
    let fleet = sent.fleet(asked, &Arc::default())?;
    let commands =
        asked.on.scheduler(&fleet, asked.at_once, &Arc::default()).dry_run(&fleet, sent.plan.as_deref());
    terminal::print(&format!("{}{commands}", sent.dry_run(&fleet)))?;
    Ok(Status::Done)
}

fn start(asked: &FleetRunArgs) -> Result<Status, Error> {
    let interrupted = on_interrupt()?;
    let folder = folder(asked);
    let (mut fleet, scheduler) = match asked.resume {
        true => resumed(&folder, asked, &interrupted)?,
        false => begun(asked, &interrupted)?,
    };
    if asked.detach || !wait(&fleet, scheduler.as_ref(), asked.quiet, &interrupted)? {
        let folder = shell_path(&folder);
        terminal::say(&format!(
            "The nodes go on. To fetch what they find: howlate fleet collect {folder}\nTo end them: howlate fleet cancel {folder}\n"
        ));
        let is_all = asked.detach && fleet.open_nodes().len() == fleet.members.len();
        return Ok(if is_all { Status::Done } else { Status::NotTrustworthy });
    }
    collect(&mut fleet, scheduler.as_ref(), &folder, asked.json)
}

/// Returns when nothing more is to be expected of any node; `false` when it was interrupted before.
fn wait(
    fleet: &Fleet,
    scheduler: &dyn Scheduler,
    quiet: bool,
    interrupted: &AtomicBool,
) -> Result<bool, Error> {
    let mut screen = terminal::screen(quiet);
    let over =
        Waiting::begin(fleet, scheduler, &mut |event| say(event, &mut screen)).until_over(interrupted)?;
    screen.iter_mut().for_each(|screen| screen.clear());
    Ok(over)
}

/// Tells what happens while nodes are waited for.
fn say(event: WaitEvent, screen: &mut Option<Box<dyn Screen>>) {
    match event {
        WaitEvent::Progress(text) => screen.iter_mut().for_each(|screen| screen.show(&text)),
        WaitEvent::TooLong { node, most } => {
            terminal::tell(&format!("{node} is not done after {most} and is cancelled.\n"));
        }
        WaitEvent::NotCancelled { node, reason } => {
            terminal::tell(&format!("{node} is not cancelled: {reason}\n"));
        }
    }
}

/// A new fleet, started.
fn begun(asked: &FleetRunArgs, interrupted: &Arc<AtomicBool>) -> Result<(Fleet, Box<dyn Scheduler>), Error> {
    let sent = Sent::check(asked)?;
    let program = sent.program.as_ref().map(|program| program.path.as_path());
    let mut fleet = sent.fleet(asked, interrupted)?.create(program, sent.plan.as_deref())?;
    let scheduler = asked.on.scheduler(&fleet, asked.at_once, interrupted);
    let all = fleet.open_nodes();
    scheduler.start(&mut fleet, &all, interrupted)?;
    Ok((fleet, scheduler))
}

/// A fleet that was started before, started again where nothing came of it and nothing goes on.
fn resumed(
    folder: &Path,
    asked: &FleetRunArgs,
    interrupted: &Arc<AtomicBool>,
) -> Result<(Fleet, Box<dyn Scheduler>), Error> {
    let (mut fleet, scheduler) = Fleet::open_with_scheduler(folder, interrupted)?;
    submission::must_be(&fleet, asked)?;
    let states = fleet.states(scheduler.as_ref())?;
    let is_missing = |state: &State| state.is_over() && !matches!(state, State::Done { .. });
    let missing: Vec<usize> = (0..states.len()).filter(|node| is_missing(&states[*node])).collect();
    fleet.at_once = asked.at_once;
    // Where it was put it stays: what was started there is looked for there.
    let placement = fleet.pods.as_ref().map(|pods| pods.placement.clone()).unwrap_or_default();
    let pods = submission::pods(asked, fleet.pods.as_ref().is_some_and(|pods| pods.is_traced))?;
    fleet.pods = pods.map(|pods| Pods { placement, ..pods });
    let slurm = submission::slurm(asked)?;
    if asked.slurm != SlurmArgs::default() {
        fleet.slurm = slurm;
    }
    fleet.timeout_s = asked.timeout.map(|most| most.as_nanos().div_ceil(1_000_000_000));
    missing.iter().for_each(|node| fleet.members[*node].ended = None);
    scheduler.start(&mut fleet, &missing, interrupted)?;
    Ok((fleet, scheduler))
}

/// The fleet's folder.
fn folder(asked: &FleetRunArgs) -> PathBuf {
    let named_after = || {
        let stem = asked.plan.file_stem().unwrap_or_default().to_string_lossy();
        PathBuf::from(format!("{stem}-fleet"))
    };
    asked.folder.clone().unwrap_or_else(named_after)
}

/// Ends what still runs.
fn cancel(folder: &Path) -> Result<Status, Error> {
    let (fleet, scheduler) = Fleet::open_with_scheduler(folder, &Arc::default())?;
    let mut say = |event| say(event, &mut None);
    let is_all = howlate_fleet::cancel(&fleet, scheduler.as_ref(), &fleet.open_nodes(), &mut say)?;
    terminal::say(&format!("To fetch what was measured: howlate fleet collect {}\n", shell_path(folder)));
    Ok(if is_all { Status::Done } else { Status::NotTrustworthy })
}
