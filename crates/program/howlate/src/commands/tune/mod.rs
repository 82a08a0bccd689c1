//! `howlate tune`: tries settings and compares their latencies.

mod program;

use howlate_model::{Span, shell_word};
use howlate_plan::Plan;
use howlate_render::{self as render, Detail};
use howlate_session::{Environment, Request, Resume, TurnSettings};
use howlate_tune::{Reliability, TuneResult, Tuner, wakeups_per_turn};

use super::formats::{answer, is_json};
use super::{cyclic, detail, end_history, notify, request, sleep};
use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::startup;
use crate::terminal;
use howlate_cli::{MeasureArgs, OutputFormat, SearchArgs, TuneArgs, TuneSubject, TuneWork};
use howlate_model::refused_option::NotForTune;
use howlate_recording::HistoryEntry;

pub(crate) fn run(args: TuneArgs) -> Result<ExitStatus, Error> {
    match args.subject {
        TuneSubject::Work(work) => tune_own_threads(work),
        TuneSubject::Program(program) => program::run(&program),
    }
}

fn tune_own_threads(mut work: TuneWork) -> Result<ExitStatus, Error> {
    check_options(&mut work)?;
    let resumes = *work.resume_mut();
    let (measuring, how) = work.parts();
    let how = how.clone();
    if how.restore {
        return restore(is_json(measuring.output.output_format()));
    }
    let resume = match measuring.output.out.as_deref() {
        Some(out) if resumes => Resume::open(out, true)?,
        _ => Resume::No,
    };
    let seed = resume.seed().unwrap_or_else(|| measuring.run.seed());
    choose_extent(&mut work);
    let environment = if how.dry_run { Environment::read() } else { startup::begin()? };
    let plan = plan(&mut work, &environment, seed)?;
    let (measuring, _) = work.parts();
    if how.dry_run {
        let settings = Tuner::for_list(plan, seed, how.options())?;
        return list(&settings, &how, is_json(measuring.output.output_format()));
    }
    let settings = Tuner::begin(plan, seed, how.options())?;
    measure_settings(settings, measuring, &environment, seed, resume)
}

fn measure_settings(
    settings: Tuner,
    measuring: &MeasureArgs,
    environment: &Environment,
    seed: u64,
    resume: Resume,
) -> Result<ExitStatus, Error> {
    let quiet = measuring.output.printing.quiet;
    let turning = turning(&settings, quiet)?;
    let history = HistoryEntry::begin("tune", measuring.output.out.as_deref(), measuring.no_save);
    let history_path = history.path();
    let request = Request {
        kept: history_path.as_deref(),
        ..request("tune", seed, environment, &measuring.run, &measuring.output, None)
    };
    let found = settings.measure(request, environment, turning, resume)?;
    print(&found, is_json(measuring.output.output_format()), detail(measuring.output.details, None))?;
    end_history(history, quiet);
    if measuring.output.out.is_some() && !quiet {
        print_resume_hint(&found);
    }
    Ok(found.reliability().into())
}

impl From<Reliability> for ExitStatus {
    fn from(reliance: Reliability) -> Self {
        match reliance {
            Reliability::Sound => Self::Done,
            Reliability::NotTrustworthy => Self::NotTrustworthy,
        }
    }
}

fn print(found: &TuneResult, is_json: bool, detail: Detail) -> Result<(), Error> {
    let report = found.report();
    let text = match is_json {
        true => answer(render::tune_json(&report)?, detail)?,
        false => render::tune_text(&report, detail, terminal::width()),
    };
    Ok(terminal::print_or_json(&text, is_json)?)
}

/// Prints the command that continues an interrupted run.
fn print_resume_hint(found: &TuneResult) {
    if found.is_interrupted() {
        let arguments = found.arguments().iter().filter(|argument| *argument != "--resume").map(shell_word);
        let command_line = arguments.collect::<Vec<_>>().join(" ");
        terminal::eprint(&format!("To go on: howlate {command_line} --resume\n"));
    }
}

/// The means to change settings of the machine, where any is tried; prints the changes first.
fn turning(settings: &Tuner, quiet: bool) -> Result<Option<TurnSettings>, Error> {
    let turning = settings.turning()?;
    let text = render::tune_announcement(&settings.listed(), terminal::width());
    text.filter(|_| !quiet).iter().for_each(|text| terminal::eprint(text));
    Ok(turning)
}

/// Prints every setting with its state, and changes nothing.
fn list(settings: &Tuner, how: &SearchArgs, is_json: bool) -> Result<ExitStatus, Error> {
    let (baseline, listed) = (settings.baseline(), settings.listed());
    let text = match is_json {
        true => render::tune_listing_json(baseline, &listed, how.budget)?,
        false => {
            let time = (how.budget, settings.needs());
            render::tune_listing(baseline, &listed, time, terminal::width())
        }
    };
    terminal::print_or_json(&text, is_json)?;
    Ok(ExitStatus::Done)
}

/// Restores settings that a killed howlate and its guardian left changed, and prints them.
fn restore(is_json: bool) -> Result<ExitStatus, Error> {
    let restored = howlate_tune::restore()?;
    let text = match is_json {
        true => render::tune_restored_json(&restored.caveats, restored.is_complete())?,
        false => render::tune_restored(&restored.caveats),
    };
    terminal::print_or_json(&text, is_json)?;
    Ok(if restored.is_complete() { ExitStatus::Done } else { ExitStatus::NotTrustworthy })
}

fn plan(work: &mut TuneWork, environment: &Environment, seed: u64) -> Result<Plan, Error> {
    Ok(match work {
        TuneWork::Cyclic(cyclic) => cyclic::plan(&cyclic.work, environment, seed)?,
        TuneWork::Sleep(sleep) => sleep::plan(&sleep.work, environment, seed)?,
        TuneWork::Notify(notify) => notify::plan(&notify.work, environment, seed)?,
    })
}

/// `howlate tune` determines the number of turns itself, and compares latencies only.
fn check_options(work: &mut TuneWork) -> Result<(), Error> {
    let wants_reasons = work.wants_reasons();
    let (measuring, _) = work.parts();
    let output = &measuring.output;
    let unsupported = [
        (NotForTune::Why, wants_reasons),
        (NotForTune::Rounds, measuring.extent.rounds.is_some()),
        (NotForTune::Until, measuring.until.until.is_some()),
        (NotForTune::SamplesOut, output.samples_out.is_some()),
        (NotForTune::ExportJson, output.export_json.is_some()),
        (NotForTune::ExportMarkdown, output.export_markdown.is_some()),
        (NotForTune::FailAbove, !measuring.run.fail_above.is_empty()),
        (NotForTune::Format, !matches!(output.output_format(), OutputFormat::Text | OutputFormat::Json)),
    ];
    match unsupported.into_iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(Error::NotForTune(option)),
        None => Ok(()),
    }
}

/// Each round of a setting is one turn: of the length in the options, or of as many wake-ups as its figures need.
fn choose_extent(work: &mut TuneWork) {
    let length = wakeup_length(work);
    let (measuring, how) = work.parts();
    let extent = &mut measuring.extent;
    extent.rounds = Some(1);
    if extent.samples.is_none() && extent.duration.is_none() {
        extent.samples = Some(wakeups_per_turn(length, how.goal.statistic()));
    }
}

/// Time of one wake-up.
fn wakeup_length(work: &TuneWork) -> Span {
    let first = |lengths: &[Span]| lengths.first().copied().unwrap_or(Span::from_millis(1));
    match work {
        TuneWork::Cyclic(cyclic) => first(&cyclic.work.period),
        TuneWork::Sleep(sleep) => first(&sleep.work.lengths()),
        TuneWork::Notify(notify) => first(&notify.work.after),
    }
}
