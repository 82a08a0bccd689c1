//! `howlate run`

use std::path::Path;

use howlate_model::{Condition, HowEnded, Span};
use howlate_plan::{Plan, PlanError, together};
use howlate_render as render;

use super::{cyclic, judge, notify, print_result, sleep};
use crate::cli::{Command, Guest, Measuring, Run};
use crate::error::Error;
use crate::experiment::Experiment;
use crate::session::{Past, Request, Surroundings, measure};
use crate::status::Status;
use crate::terminal;

pub(crate) fn run(asked: Run) -> Result<Status, Error> {
    let mut experiment = Experiment::read(&asked.plan)?;
    let asked = match experiment.options.take() {
        Some(options) => asked.or(options),
        None => asked,
    };
    if let Some(guest) = experiment.guest.take().filter(|_| !asked.here && !asked.dry_run) {
        return in_guests(&asked, guest);
    }
    let path = asked.recording();
    let past = Past::of(&path, asked.resume || asked.dry_run)?;
    let seed = past.seed().or(asked.seed).unwrap_or_else(|| fastrand::u64(..1_000_000));
    if asked.dry_run {
        let plan = plan(&mut experiment, &asked, &Surroundings::look(), seed)?;
        terminal::print(&render::plan(&rows(&plan), &plan.left_out, plan.estimate()))?;
        return Ok(Status::Done);
    }
    let around = Surroundings::begin_with(&experiment.settings)?;
    let status = take(&asked, &mut experiment, &around, seed, past);
    // Where the run ended in order, the result has said so.
    around.put_back().iter().for_each(|caveat| terminal::say(&format!("{}\n", render::caveat(caveat))));
    status
}

/// The same run in each guest that the plan asks for.
fn in_guests(asked: &Run, mut guest: Guest) -> Result<Status, Error> {
    if asked.resume {
        return Err(Error::NotForGuests("--resume".to_owned()));
    }
    guest.command = asked.in_guest();
    guest.out = Some(asked.recording());
    (guest.json, guest.quiet) = (asked.json, asked.quiet);
    super::guest::run(&guest)
}

fn take(
    asked: &Run,
    experiment: &mut Experiment,
    around: &Surroundings,
    seed: u64,
    past: Past,
) -> Result<Status, Error> {
    let plan = plan(experiment, asked, around, seed)?;
    let path = asked.recording();
    introduce(experiment, &plan, &path, asked.quiet);
    let request = Request {
        command: "run",
        seed,
        out: Some(&path),
        samples_out: asked.samples_out.as_deref(),
        dma_latency_us: asked.dma_latency,
        stop_above: asked.stop_above,
        quiet: asked.quiet,
    };
    let analysis = measure(&request, around, &plan, past)?;
    print_result(&analysis, asked.json)?;
    if analysis.end.as_ref().is_some_and(|end| end.how == HowEnded::Interrupted) && !asked.quiet {
        terminal::say(&format!(
            "To go on: howlate run {} --resume{}\n",
            asked.plan.display(),
            out_option(asked)
        ));
    }
    Ok(judge(&analysis, &asked.fail_above))
}

/// What would be measured, in the words of each measuring command's own options.
fn plan(
    experiment: &mut Experiment,
    asked: &Run,
    around: &Surroundings,
    seed: u64,
) -> Result<Plan, PlanError> {
    let mut plans = Vec::new();
    for command in &mut experiment.measures {
        plans.push(match command {
            Command::Sleep(one) => planned(one, asked, seed, |one| sleep::plan(one, around)),
            Command::Cyclic(one) => planned(one, asked, seed, |one| cyclic::plan(one, around)),
            Command::Notify(one) => planned(one, asked, seed, |one| notify::plan(one, around)),
            _ => continue,
        });
    }
    together(plans, seed)
}

/// A measuring command's plan, with what was typed for the whole run and without loads that
/// cannot be applied here.
fn planned<T: AsMut<Measuring>>(
    command: &mut T,
    asked: &Run,
    seed: u64,
    plan: impl Fn(&T) -> Result<(Plan, u64), PlanError>,
) -> Result<Plan, PlanError> {
    let measuring = command.as_mut();
    measuring.seed = Some(seed);
    measuring.quiet = asked.quiet;
    measuring.samples = asked.samples.or(measuring.samples);
    measuring.duration = asked.duration.or(measuring.duration);
    measuring.rounds = asked.rounds.or(measuring.rounds);
    let (left_out, any_left) = measuring.leave_out_loads();
    if !any_left {
        return Err(PlanError::NothingLeft(left_out));
    }
    let (mut plan, _) = plan(command)?;
    plan.left_out.extend(left_out);
    Ok(plan)
}

/// Says what is about to happen.
fn introduce(experiment: &Experiment, plan: &Plan, path: &Path, quiet: bool) {
    if quiet {
        return;
    }
    let about = experiment.about.as_ref().map(|about| format!("{about}\n")).unwrap_or_default();
    let extent = render::extent(plan.conditions.len(), plan.turns.len(), plan.estimate());
    terminal::say(&format!("{about}{extent}; recorded in {}\n", path.display()));
}

fn out_option(asked: &Run) -> String {
    asked.out.as_ref().map(|out| format!(" --out {}", out.display())).unwrap_or_default()
}

/// Each condition with the number of its turns and the time that they take.
fn rows(plan: &Plan) -> Vec<(&Condition, usize, Span)> {
    let row = |(number, condition)| {
        let is_its =
            |turn: &&howlate_model::Turn| turn.tasks.iter().any(|task| task.condition as usize == number);
        let turns = plan.turns.iter().filter(is_its);
        let time = turns.clone().fold(Span::ZERO, |sum, turn| sum.plus(turn.estimate));
        (condition, turns.count(), time)
    };
    plan.conditions.iter().enumerate().map(row).collect()
}
