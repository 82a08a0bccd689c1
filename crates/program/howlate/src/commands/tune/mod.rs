//! `howlate tune`

mod extent;
mod program;

use howlate_model::shell_word;
use howlate_plan::Plan;
use howlate_render::{self as render, Detail};
use howlate_session::{Environment, Request, Resume, Turning};
use howlate_tune::{Found, Prepared, Reliance};

use super::formats::is_json;
use super::{cyclic, detail, notify, request, say_kept, sleep};
use crate::error::Error;
use crate::exit_status::Status;
use crate::startup;
use crate::terminal;
use howlate_cli::{MeasureArgs, OutputFormat, SearchArgs, TuneArgs, TuneSubject, TuneWork};
use howlate_model::refused_option::NotForTune;
use howlate_recording::HistoryEntry;

pub(crate) fn run(asked: TuneArgs) -> Result<Status, Error> {
    match asked.subject {
        TuneSubject::Work(work) => try_on_own_threads(work),
        TuneSubject::Program(program) => program::run(&program),
    }
}

fn try_on_own_threads(mut work: TuneWork) -> Result<Status, Error> {
    refuse_what_is_not_for_tune(&mut work)?;
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
    extent::choose(&mut work);
    let environment = if how.dry_run { Environment::read() } else { startup::begin()? };
    let plan = plan(&mut work, &environment, seed)?;
    let (measuring, _) = work.parts();
    if how.dry_run {
        let settings = Prepared::look(plan, seed, how.options())?;
        return list(&settings, &how, is_json(measuring.output.output_format()));
    }
    let settings = Prepared::begin(plan, seed, how.options())?;
    try_all(settings, measuring, &environment, seed, resume)
}

fn try_all(
    settings: Prepared,
    measuring: &MeasureArgs,
    environment: &Environment,
    seed: u64,
    resume: Resume,
) -> Result<Status, Error> {
    let quiet = measuring.output.printing.quiet;
    let turning = turning(&settings, quiet)?;
    let kept = HistoryEntry::begin("tune", measuring.output.out.as_deref(), measuring.no_save);
    let place = kept.path();
    let request = Request {
        kept: place.as_deref(),
        ..request("tune", seed, environment, &measuring.run, &measuring.output, None)
    };
    let found = settings.measure(request, environment, turning, resume)?;
    print(&found, is_json(measuring.output.output_format()), detail(measuring.output.details, None))?;
    say_kept(kept, quiet);
    if measuring.output.out.is_some() && !quiet {
        say_how_to_go_on(&found);
    }
    Ok(found.reliance().into())
}

impl From<Reliance> for Status {
    fn from(reliance: Reliance) -> Self {
        match reliance {
            Reliance::Sound => Self::Done,
            Reliance::NotTrustworthy => Self::NotTrustworthy,
        }
    }
}

/// What was found.
fn print(found: &Found, is_json: bool, detail: Detail) -> Result<(), Error> {
    let report = found.report();
    let text = match is_json {
        true => render::tune_json(&report)?,
        false => render::tune_text(&report, detail, terminal::width()),
    };
    Ok(terminal::print_or_json(&text, is_json)?)
}

/// What continues a run that was interrupted.
fn say_how_to_go_on(found: &Found) {
    if found.is_interrupted() {
        let words = found.arguments().iter().filter(|word| *word != "--resume").map(shell_word);
        let typed = words.collect::<Vec<_>>().join(" ");
        terminal::say(&format!("To go on: howlate {typed} --resume\n"));
    }
}

/// What turns settings of the machine, where any is to be tried; says what will be changed before it is.
fn turning(settings: &Prepared, quiet: bool) -> Result<Option<Turning>, Error> {
    let turning = settings.turning()?;
    let text = render::tune_announcement(&settings.listed(), terminal::width());
    text.filter(|_| !quiet).iter().for_each(|text| terminal::say(text));
    Ok(turning)
}

/// Every setting with its state here; nothing is changed.
fn list(settings: &Prepared, how: &SearchArgs, is_json: bool) -> Result<Status, Error> {
    let (baseline, listed) = (settings.baseline(), settings.listed());
    let text = match is_json {
        true => render::tune_listing_json(baseline, &listed, how.budget)?,
        false => {
            let time = (how.budget, settings.needs());
            render::tune_listing(baseline, &listed, time, terminal::width())
        }
    };
    terminal::print_or_json(&text, is_json)?;
    Ok(Status::Done)
}

/// Puts back what a howlate left that was killed together with its guardian, and says what that was.
fn restore(is_json: bool) -> Result<Status, Error> {
    let restored = howlate_tune::restore()?;
    let text = match is_json {
        true => render::tune_restored_json(&restored.caveats, restored.is_whole())?,
        false => render::tune_restored(&restored.caveats),
    };
    terminal::print_or_json(&text, is_json)?;
    Ok(if restored.is_whole() { Status::Done } else { Status::NotTrustworthy })
}

fn plan(work: &mut TuneWork, environment: &Environment, seed: u64) -> Result<Plan, Error> {
    Ok(match work {
        TuneWork::Cyclic(tried) => cyclic::plan(&tried.work, environment, seed)?,
        TuneWork::Sleep(tried) => sleep::plan(&tried.work, environment, seed)?,
        TuneWork::Notify(tried) => notify::plan(&tried.work, environment, seed)?,
    })
}

/// Turns decide themselves how many there are, and only their latencies are compared.
fn refuse_what_is_not_for_tune(work: &mut TuneWork) -> Result<(), Error> {
    let asks_why = work.wants_reasons();
    let (measuring, _) = work.parts();
    let output = &measuring.output;
    let refused = [
        (NotForTune::Why, asks_why),
        (NotForTune::Rounds, measuring.extent.rounds.is_some()),
        (NotForTune::Until, measuring.until.until.is_some()),
        (NotForTune::SamplesOut, output.samples_out.is_some()),
        (NotForTune::ExportJson, output.export_json.is_some()),
        (NotForTune::ExportMarkdown, output.export_markdown.is_some()),
        (NotForTune::FailAbove, !measuring.run.fail_above.is_empty()),
        (NotForTune::Format, !matches!(output.output_format(), OutputFormat::Text | OutputFormat::Json)),
    ];
    match refused.into_iter().find(|(_, is_asked)| *is_asked) {
        Some((option, _)) => Err(Error::NotForTune(option)),
        None => Ok(()),
    }
}
