//! `howlate tune`

mod apply;
mod budget;
mod candidates;
mod facts;
mod program;
mod report;
mod restoring;
#[cfg(test)]
mod scripted;
mod search;
mod tuners;

use howlate_analyse::compare::Track;
use howlate_guard::{Guard, LockError};
use howlate_knobs::{Scope, all};
use howlate_model::{HowEnded, Span, shell_word};
use howlate_plan::{Plan, Trials};
use howlate_procfs::Root;
use howlate_render as render;

use super::formats::is_json;
use super::{cyclic, notify, request, say_kept, sleep};
use crate::cli::{Format, Goal, HowToTune, KnobSelection, Measuring, Tune, TuneSubject, TuneWork};
use crate::environment;
use crate::error::Error;
use crate::exit_status::Status;
use crate::history::HistoryEntry;
use crate::terminal;
use candidates::Candidates;
use howlate_session::Environment;
use howlate_session::{Parts, Request, Resume, Turning, measure_in_steps};
use search::Trying;

pub(crate) fn run(asked: Tune) -> Result<Status, Error> {
    match asked.subject {
        TuneSubject::Work(work) => try_on_own_threads(work),
        TuneSubject::Program(program) => program::run(&program),
    }
}

fn try_on_own_threads(mut work: TuneWork) -> Result<Status, Error> {
    refuse_what_is_not_for_tune(&mut work)?;
    let resumes = *work.resumes();
    let (measuring, how) = work.parts();
    let how = how.clone();
    if how.restore {
        return restoring::restore(is_json(measuring.output.printed()));
    }
    let resume = match measuring.output.out.as_deref() {
        Some(out) if resumes => Resume::open(out, true)?,
        _ => Resume::No,
    };
    let seed = resume.seed().unwrap_or_else(|| measuring.run.seed());
    choose_extent(&mut work);
    let environment = if how.dry_run { Environment::read() } else { environment::begin()? };
    let plan = plan(&mut work, &environment, seed)?;
    let trials = Trials::from_plan(plan.clone(), seed)?;
    let guard = Guard::default();
    if !how.dry_run {
        stand_alone(&guard, &how)?;
    }
    let candidates = Candidates::list(&Root::live(), &how.knobs, trials.base(), None);
    let (measuring, _) = work.parts();
    if how.dry_run {
        return list(&candidates, &trials, &how, is_json(measuring.output.printed()));
    }
    try_all(&plan, trials, (&candidates, guard), (&how, measuring), &environment, (seed, resume))
}

fn try_all(
    plan: &Plan,
    trials: Trials,
    (candidates, guard): (&Candidates, Guard),
    (how, measuring): (&HowToTune, &Measuring),
    environment: &Environment,
    (seed, resume): (u64, Resume),
) -> Result<Status, Error> {
    let turning = turning(candidates, guard, how, measuring.output.printing.quiet)?;
    let mut trying = Trying::new(trials, candidates, how);
    let plan = Plan { conditions: trying.conditions().to_vec(), ..plan.clone() };
    let kept = HistoryEntry::begin("tune", measuring.output.out.as_deref(), measuring.no_save);
    let place = kept.path();
    let request = Request {
        kept: place.as_deref(),
        ..request("tune", seed, environment, &measuring.run, &measuring.output)
    };
    let parts = Parts { turning, engine: None };
    let track = measure_in_steps(request, environment, &plan, &mut trying, parts, resume)?;
    let report = report::build(candidates, &trying, &track);
    let format = measuring.output.printed();
    let text = if is_json(format) {
        render::tune_json(&report)?
    } else {
        render::tune_text(&report, terminal::width())
    };
    terminal::print_or_json(&text, is_json(format))?;
    say_kept(kept, measuring.output.printing.quiet);
    if measuring.output.out.is_some() && !measuring.output.printing.quiet {
        say_how_to_go_on(&track);
    }
    Ok(report::status(&report, &track))
}

/// What continues a run that was interrupted.
fn say_how_to_go_on(track: &Track) {
    let is_interrupted = track.analysis.end.as_ref().is_some_and(|end| end.how == HowEnded::Interrupted);
    if is_interrupted {
        let words = track.analysis.header.arguments.iter().filter(|word| *word != "--resume").map(shell_word);
        let typed = words.collect::<Vec<_>>().join(" ");
        terminal::say(&format!("To go on: howlate {typed} --resume\n"));
    }
}

/// While another howlate has settings changed, those of the machine are not what they look like.
fn stand_alone(guard: &Guard, how: &HowToTune) -> Result<(), Error> {
    let of_machine =
        |chosen: &KnobSelection| all().any(|knob| knob.scope == Scope::Machine && chosen.means(knob));
    match how.knobs.iter().any(of_machine).then(|| guard.begin()) {
        Some(Err(LockError::Busy)) => Err(LockError::Busy.into()),
        // Whether it matters that there is no place for a journal is seen when it is known what may be changed.
        _ => Ok(()),
    }
}

/// What turns settings of the machine, where any is to be tried: nobody else may do so meanwhile. Says what will be
/// changed before it is.
fn turning(
    candidates: &Candidates,
    guard: Guard,
    how: &HowToTune,
    quiet: bool,
) -> Result<Option<Turning>, Error> {
    let Some(text) = render::tune_announcement(&candidates.listed(), terminal::width()) else {
        return Ok(None);
    };
    let tuners = tuners::at_work(&Root::live());
    if !tuners.is_empty() && !how.beside_tuners {
        return Err(Error::Tuners(tuners));
    }
    guard.begin()?;
    if !quiet {
        terminal::say(&text);
    }
    Ok(Some(Turning::with_guard(guard)))
}

/// Every setting with its state here; nothing is changed.
fn list(candidates: &Candidates, trials: &Trials, how: &HowToTune, is_json: bool) -> Result<Status, Error> {
    let (baseline, listed) = (&trials.base()[0], candidates.listed());
    let text = match is_json {
        true => render::tune_listing_json(baseline, &listed, how.budget)?,
        false => render::tune_listing(baseline, &listed, how.budget, terminal::width()),
    };
    terminal::print_or_json(&text, is_json)?;
    Ok(Status::Done)
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
    let asks_why = work.asks_why();
    let (measuring, _) = work.parts();
    let output = &measuring.output;
    let refused = [
        ("--why", asks_why),
        ("--rounds", measuring.extent.rounds.is_some()),
        ("--samples-out", output.samples_out.is_some()),
        ("--fail-above", !measuring.run.fail_above.is_empty()),
        ("--format", !matches!(output.printed(), Format::Text | Format::Json)),
    ];
    match refused.into_iter().find(|(_, is_asked)| *is_asked) {
        Some((option, _)) => Err(Error::NotForTune(option)),
        None => Ok(()),
    }
}

/// About so long is a turn, if it need not be longer to hold enough wake-ups.
const TURN: Span = Span::from_millis(150);

/// A turn of its own for each setting and round: what was typed, or as many wake-ups as the numbers of a turn take.
fn choose_extent(work: &mut TuneWork) {
    let each = length(work);
    let (measuring, how) = work.parts();
    let extent = &mut measuring.extent;
    extent.rounds = Some(1);
    if extent.samples.is_none() && extent.duration.is_none() {
        extent.samples = Some(samples(each, how.goal));
    }
}

/// A tenth more than the goal takes, because late wake-ups may swallow others.
fn samples(each: Span, goal: Goal) -> u64 {
    let least = (goal.statistic().least() * 11 / 10).max(20);
    (TURN.as_nanos() / each.as_nanos().max(1)).clamp(least, 2_000)
}

/// How long one wake-up takes.
fn length(work: &TuneWork) -> Span {
    let first = |lengths: &[Span]| lengths.first().copied().unwrap_or(Span::from_millis(1));
    match work {
        TuneWork::Cyclic(tried) => first(&tried.work.period),
        TuneWork::Sleep(tried) => first(&tried.work.lengths),
        TuneWork::Notify(tried) => first(&tried.work.after),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_holds_enough_for_its_goal_and_is_short() {
        assert_eq!(samples(Span::from_millis(1), Goal::P99), 150);
        assert_eq!(samples(Span::from_millis(10), Goal::P99), 110);
        assert_eq!(samples(Span::from_millis(10), Goal::P50), 20);
        assert_eq!(samples(Span::from_micros(10), Goal::Max), 2_000);
    }
}
