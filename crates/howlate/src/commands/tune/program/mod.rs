//! `howlate tune program`: settings tried from outside, on a program that goes on.

mod external_settings;
mod first_look;
mod observer;
mod time_windows;

use std::sync::atomic::Ordering;

use howlate_analyse::compare::Track;
use howlate_guard::Guard;
use howlate_model::{Caveat, Condition, Load, Task, Turn, Work};
use howlate_plan::{Plan, Trials};
use howlate_procfs::Root;
use howlate_render::{self as render, TuneReport};

use super::candidates::Candidates;
use super::facts::Facts;
use super::search::Trying;
use super::{TURN, list, report, restoring, samples, turning};
use crate::cli::{Goal, TuneProgram};
use crate::commands::say_kept;
use crate::environment;
use crate::error::Error;
use crate::exit_status::Status;
use crate::history::HistoryEntry;
use crate::terminal;
use external_settings::Outside;
use first_look::FirstLook;
use howlate_session::Environment;
use howlate_session::{Parts, Request, Resume, Turning, measure_in_steps};
use howlate_trace::TracerMissing;
use howlate_watch::Subject;
use howlate_watching::ChosenTracer;
use observer::{Sight, threads_of};
use time_windows::{SETTLE, Windows};

pub(super) fn run(asked: &TuneProgram) -> Result<Status, Error> {
    if asked.how.restore {
        return restoring::restore(asked.printing.json);
    }
    if asked.how.dry_run {
        return list_for(asked);
    }
    let environment = environment::begin()?;
    let guard = Guard::default();
    guard.begin()?;
    let mut subject = Subject::new(asked.process.as_deref(), &asked.program, asked.printing.json)?;
    let (mut sight, caveats) = see(asked, &mut subject)?;
    subject.begin()?;
    let told = try_on(asked, &environment, &guard, (&mut subject, &mut sight), caveats);
    let failure = subject.end(&environment.interrupted);
    let status = told?;
    failure.map_or(Ok(status), Err)
}

/// Begins to look at it.
fn see(asked: &TuneProgram, subject: &mut Subject) -> Result<(Sight, Vec<Caveat>), Error> {
    let ChosenTracer { mut tracer, untraced, caveats, .. } = ChosenTracer::choose(asked.tracer, subject)?;
    if let Some(tracer) = &mut tracer {
        let tier = tracer.tier();
        let refused = |refusal| TracerMissing { tier, refusal };
        if asked.follow {
            tracer.with_children().map_err(refused)?;
        }
        tracer.start().map_err(refused)?;
    }
    let threads = threads_of(subject.pid(), asked.follow);
    let sight = Sight::new(tracer, subject.take_loops(), threads, &asked.thread);
    match untraced {
        // A program that runs already cannot have marked any loop for this howlate.
        Some(error) if matches!(subject, Subject::Attached(_)) => Err(error),
        _ if !sight.is_traced() && matches!(subject, Subject::Attached(_)) => {
            Err(Error::NothingWatches(asked.tracer))
        }
        _ => Ok((sight, caveats)),
    }
}

fn try_on(
    asked: &TuneProgram,
    environment: &Environment,
    guard: &Guard,
    (subject, sight): (&mut Subject, &mut Sight),
    caveats: Vec<Caveat>,
) -> Result<Status, Error> {
    let look = FirstLook::take(sight, subject, enough(asked.how.goal), &environment.interrupted);
    let threads = sight.chosen();
    let goes_on = !subject.is_over(sight.threads()) && !look.compared.is_empty();
    let Some((first, _)) = threads.first().filter(|_| goes_on) else {
        return Err(nothing_to_compare(asked, subject, sight, environment));
    };
    let facts = Facts::of_thread(*first, threads.len());
    let plan = Plan { left_out: caveats, ..plan(asked, subject.name(), &facts, &look, environment) };
    let seed = asked.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    let trials = Trials::from_plan(plan.clone(), seed)?;
    let program = described(subject, &facts, &look, trials.turn());
    let candidates = Candidates::list(&Root::live(), &asked.how.knobs, trials.base(), Some(&facts));
    let machine = turning(&candidates, guard.clone(), &asked.how, asked.printing.quiet)?;
    let machine = machine.unwrap_or_else(|| Turning::of_others(guard.clone()));
    let base = Task::from_condition(0, &trials.base()[0]);
    let each = trials.turn().estimate;
    let mut trying = Trying::new(trials, &candidates, &asked.how);
    trying.check_time_for_turns_of(each);
    let mut outside = Outside::by(guard.clone());
    let engine = Windows::new(sight, subject, &mut outside, base);
    let (track, kept) = measure((asked, seed), environment, &plan, &mut trying, (machine, engine))?;
    let mut found = report::build(&candidates, &trying, &track);
    found.program = Some(program);
    found.left = Some([found.left.unwrap_or_default(), outside.left()].concat());
    print(asked, &found)?;
    say_kept(kept, asked.printing.quiet);
    Ok(report::status(&found, &track))
}

fn measure(
    (asked, seed): (&TuneProgram, u64),
    environment: &Environment,
    plan: &Plan,
    trying: &mut Trying,
    (machine, engine): (Turning, Windows<'_>),
) -> Result<(Track, HistoryEntry), Error> {
    let kept = HistoryEntry::begin("tune", asked.out.as_deref(), asked.no_save);
    let place = kept.path();
    let request = Request {
        command: "tune",
        seed,
        out: asked.out.as_deref(),
        kept: place.as_deref(),
        samples_out: None,
        node: environment.node.clone(),
        dma_latency_us: None,
        stop_above: None,
        screen: terminal::screen(asked.printing.quiet),
        traced: None,
    };
    let plan = Plan { conditions: trying.conditions().to_vec(), ..plan.clone() };
    let parts = Parts { turning: Some(machine), engine: Some(Box::new(engine)) };
    let track = measure_in_steps(request, environment, &plan, trying, parts, Resume::No)?;
    Ok((track, kept))
}

fn print(asked: &TuneProgram, found: &TuneReport<'_>) -> Result<(), Error> {
    let text = match asked.printing.json {
        true => render::tune_json(found)?,
        false => render::tune_text(found, terminal::width()),
    };
    Ok(terminal::print_or_json(&text, asked.printing.json)?)
}

/// Half as many wake-ups again as a turn of howlate's own threads has: nobody knows how many will come.
fn enough(goal: Goal) -> u64 {
    samples(TURN, goal) * 3 / 2
}

/// The baseline: the program as it is, its wake-ups by what they are compared by, all threads together.
fn plan(asked: &TuneProgram, name: &str, facts: &Facts, look: &FirstLook, environment: &Environment) -> Plan {
    let length = asked.turn.unwrap_or_else(|| look.turn(enough(asked.how.goal), TURN));
    let name = if asked.thread.is_empty() { name.to_owned() } else { asked.thread.join(",") };
    let of = |mechanism| Condition {
        policy: facts.policy,
        name: Some(name.clone()),
        ..Condition::new(Work::Watch { mechanism }, &environment.system.kernel)
    };
    let conditions: Vec<Condition> = look.compared.iter().copied().map(of).collect();
    let tasks =
        conditions.iter().enumerate().map(|(number, one)| Task::from_condition(number, one)).collect();
    let estimate = length.plus(SETTLE);
    let turn = Turn { tasks, load: Load::IDLE, duration: Some(length), cut_after: None, estimate };
    Plan { conditions, turns: vec![turn], left_out: Vec::new() }
}

/// What was tried on, in the report.
fn described(subject: &Subject, facts: &Facts, look: &FirstLook, turn: &Turn) -> render::TunedProgram {
    let length = turn.duration.unwrap_or_default();
    render::TunedProgram {
        name: subject.name().to_owned(),
        pid: subject.pid(),
        threads: facts.threads,
        compared: look.compared.clone(),
        turn_ns: length,
        wakeups_per_turn: look.expected_in(length),
    }
}

/// Why no turn can be taken of it.
fn nothing_to_compare(
    asked: &TuneProgram,
    subject: &mut Subject,
    sight: &Sight,
    environment: &Environment,
) -> Error {
    let program = subject.name().to_owned();
    let why = if environment.interrupted.load(Ordering::Relaxed) {
        "it was interrupted before any setting could be tried"
    } else if subject.is_over(sight.threads()) {
        "it ended before any setting could be tried"
    } else if !sight.is_traced() {
        "nobody sees here what wakes its threads, and it has marked no loop"
    } else if asked.thread.is_empty() {
        "none of its threads woke in the first seconds"
    } else {
        "no thread of that name woke in the first seconds"
    };
    Error::NothingToTune { program, why }
}

/// Every setting with its state here; neither is the program started nor anything changed.
fn list_for(asked: &TuneProgram) -> Result<Status, Error> {
    let environment = Environment::read();
    let (name, facts) = match &asked.process {
        Some(process) => {
            let found = howlate_watch::find(&Root::live(), process, std::process::id())?;
            let mut threads = threads_of(found.pid, asked.follow);
            let count = threads.look().come.len();
            (found.name, Facts::of_thread(found.pid, count))
        }
        None => {
            let program = asked.program.first().map(|word| word.to_string_lossy().into_owned());
            (program.unwrap_or_default(), Facts::of_what_is_started())
        }
    };
    let look = FirstLook::before();
    let plan = plan(asked, &name, &facts, &look, &environment);
    let trials = Trials::from_plan(plan, 0)?;
    let candidates = Candidates::list(&Root::live(), &asked.how.knobs, trials.base(), Some(&facts));
    list(&candidates, &trials, &asked.how, asked.printing.json)
}
