//! `howlate run`: measures a plan.

use std::path::Path;

use howlate_model::{AsText, Caveat, Combination, Condition, EndReason, LoadList, Span, shell_path};
use howlate_plan::{Plan, PlanError, join_plans};
use howlate_render as render;

use super::{
    cyclic, end_history, exports, formats, guest, notify, print_result, request, saved_as, sleep, start,
};
use crate::error::Error;
use crate::exit_status::{self, ExitStatus};
use crate::plan_file::Experiment;
use crate::startup;
use crate::terminal;
use howlate_cli::built_in_plans;
use howlate_cli::{CliCommand, GuestArgs, OutputArgs, RunArgs, TuneArgs, TuneSubject, TuneWork};
use howlate_model::refused_option::{NotForGuests, NotForTune};
use howlate_recording::HistoryEntry;
use howlate_session::{Environment, Request, Resume, measure};

pub(crate) fn run(mut args: RunArgs) -> Result<ExitStatus, Error> {
    if args.list {
        let plans: Vec<(&str, String)> =
            built_in_plans::ALL.iter().map(|plan| (plan.name, plan.about())).collect();
        terminal::print(&render::plan_list(&plans, terminal::width()))?;
        return Ok(ExitStatus::Done);
    }
    let mut experiment = Experiment::read(args.plan(), "howlate run")?;
    if let Some(options) = experiment.options.take() {
        args.or(options);
    }
    let guest = experiment.guest.take().filter(|_| !args.here);
    let boots = guest.as_ref().map(guest::boots);
    if let Some(guest) = guest.filter(|_| !args.dry_run) {
        return in_guests(&args, guest);
    }
    if let Some(work) = experiment.tuning.take() {
        return run_tuning(args, work);
    }
    let path = args.recording();
    let resume = Resume::open(&path, args.resume || args.dry_run)?;
    let seed = resume.seed().unwrap_or_else(|| args.run.options.seed());
    if args.dry_run {
        let mut plan = plan(&mut experiment, &args, &Environment::read(), seed)?;
        args.reasons.add_to(&mut plan, seed)?;
        let (rows, turns, estimate) = (rows(&plan), plan.turns.len(), plan.estimate());
        let guests =
            boots.map_or_else(String::new, |boots| render::boots(boots, estimate, terminal::width()));
        let shown = render::plan(&rows, turns, &plan.left_out, estimate, terminal::width());
        terminal::print(&format!("{shown}{guests}"))?;
        return Ok(ExitStatus::Done);
    }
    let environment = startup::begin_with(&experiment.settings)?;
    let status = measure_plan(&args, &mut experiment, &environment, seed, resume);
    // After an orderly end the result has reported it.
    let not_restored = environment.put_back();
    not_restored.iter().for_each(|caveat| terminal::eprint_wrapped(&format!("{}\n", render::caveat(caveat))));
    status
}

/// Tunes with the plan's `[[tune]]` table, as `howlate tune` does on the command line.
fn run_tuning(args: RunArgs, mut work: TuneWork) -> Result<ExitStatus, Error> {
    if args.reasons.why {
        return Err(Error::NotForTune(NotForTune::Why));
    }
    if args.start_at.is_some() {
        return Err(Error::NotForTune(NotForTune::StartAt));
    }
    let path = args.recording();
    Resume::open(&path, args.resume || args.dry_run)?;
    *work.resume_mut() = args.resume;
    let (measuring, how) = work.parts();
    how.dry_run = args.dry_run;
    measuring.extent.replace(&args.extent.options);
    measuring.run = args.run.options;
    measuring.output = OutputArgs { out: Some(path), ..args.output };
    measuring.no_save = args.no_save;
    super::tune::run(TuneArgs { subject: TuneSubject::Work(work) })
}

/// Runs the plan in each guest that it lists.
fn in_guests(args: &RunArgs, mut guest: GuestArgs) -> Result<ExitStatus, Error> {
    let options = [
        ("--resume", args.resume),
        ("--start-at", args.start_at.is_some()),
        ("--on-late", !args.reasons.on_late.is_empty()),
    ];
    if let Some((option, _)) = options.iter().find(|(_, is_given)| *is_given) {
        return Err(Error::NotForGuests(NotForGuests::option(option)));
    }
    guest.command = args.in_guest();
    guest.out = Some(args.recording());
    guest.printing = args.output.printing;
    guest.no_save = args.no_save;
    super::guest::run(&guest)
}

fn measure_plan(
    args: &RunArgs,
    experiment: &mut Experiment,
    environment: &Environment,
    seed: u64,
    resume: Resume,
) -> Result<ExitStatus, Error> {
    exports::check(&args.output)?;
    let mut plan = plan(experiment, args, environment, seed)?;
    formats::check(args.output.output_format(), &plan.conditions)?;
    let traced = args.reasons.add_to(&mut plan, seed)?;
    let path = args.recording();
    let options = &args.run.options;
    let request = Request {
        out: Some(&path),
        on_late: args.reasons.on_late.clone(),
        ..request("run", seed, environment, options, &args.output, traced)
    };
    let quiet = args.output.printing.quiet;
    let history = HistoryEntry::begin("run", Some(&path), args.no_save);
    announce(experiment, &plan, &path, quiet);
    start::wait_for(args.start_at, &environment.interrupted, quiet)?;
    let mut analysis = measure(request, environment, &plan, resume)?;
    analysis.saved_as = saved_as(&history, Some(&path));
    print_result(&analysis, &args.output, None, &options.fail_above)?;
    end_history(history, quiet);
    if analysis.end.as_ref().is_some_and(|end| end.how == EndReason::Interrupted) && !quiet {
        terminal::eprint(&format!(
            "To go on: howlate run {} --resume{}\n",
            shell_path(args.plan()),
            out_option(args)
        ));
    }
    Ok(exit_status::of_whole_run(&analysis, &options.fail_above))
}

/// The plan of all measuring commands together.
fn plan(
    experiment: &mut Experiment,
    args: &RunArgs,
    environment: &Environment,
    seed: u64,
) -> Result<Plan, PlanError> {
    let plans = experiment.measures.iter_mut().map(|command| command_plan(command, args, environment, seed));
    join_plans(plans.collect(), seed)
}

/// Plan of one measuring command, with the options of the whole run and without loads that cannot be applied here.
fn command_plan(
    command: &mut CliCommand,
    args: &RunArgs,
    environment: &Environment,
    seed: u64,
) -> Result<Plan, PlanError> {
    let mut left_out = Vec::new();
    if let Some(measuring) = command.measuring_mut() {
        measuring.extent.replace(&args.extent.options);
        measuring.extent.rounds = args.reasons.rounds(measuring.extent.rounds);
        measuring.output.printing = args.output.printing;
        left_out = leave_out_loads(&mut measuring.factors.load)?;
    }
    let mut plan = match command {
        CliCommand::Sleep(args) => sleep::plan(args, environment, seed)?,
        CliCommand::Cyclic(args) => cyclic::plan(args, environment, seed)?,
        CliCommand::Notify(args) => notify::plan(args, environment, seed)?,
        // Plan files hold no other commands.
        _ => return Err(PlanError::NothingLeft(Vec::new())),
    };
    plan.left_out.extend(left_out);
    Ok(plan)
}

/// Removes loads that cannot be applied here; returns why.
fn leave_out_loads(lists: &mut [LoadList]) -> Result<Vec<Caveat>, PlanError> {
    let mut left_out = Vec::new();
    for list in &mut *lists {
        list.0.retain(|load| match howlate_load::check(load) {
            Ok(()) => true,
            Err(error) => {
                let condition = Combination::Load(load.clone()).into();
                left_out.push(Caveat::LeftOut { condition, reason: AsText::Text(error.to_string()) });
                false
            }
        });
    }
    let any_left = lists.iter().any(|list| !list.0.is_empty());
    if any_left { Ok(left_out) } else { Err(PlanError::NothingLeft(left_out)) }
}

fn announce(experiment: &Experiment, plan: &Plan, path: &Path, quiet: bool) {
    if quiet {
        return;
    }
    let about = experiment.about.as_ref().map(|about| format!("{about}\n")).unwrap_or_default();
    let extent = render::extent(plan.conditions.len(), plan.turns.len(), plan.estimate());
    terminal::eprint_wrapped(&format!("{about}{extent}; recorded in {}\n", path.display()));
}

fn out_option(args: &RunArgs) -> String {
    args.output.out.as_ref().map(|out| format!(" --out {}", shell_path(out))).unwrap_or_default()
}

/// Each condition with the number of its turns and their total time.
fn rows(plan: &Plan) -> Vec<(&Condition, usize, Span)> {
    let row = |(number, condition)| {
        let has_condition =
            |turn: &&howlate_model::Turn| turn.tasks.iter().any(|task| task.condition as usize == number);
        let turns = plan.turns.iter().filter(has_condition);
        let time = turns.clone().fold(Span::ZERO, |sum, turn| sum.plus(turn.estimate));
        (condition, turns.count(), time)
    };
    plan.conditions.iter().enumerate().map(row).collect()
}
