//! `howlate compare --with-itself`: a condition against itself.

use clap::Parser;
use howlate_analyse::compare::{Track, false_alarms};
use howlate_analyse::is_measured_as_requested;
use howlate_model::Span;
use howlate_plan::{CyclicChoices, Plan};
use howlate_render::{self as render, SelfTest};
use howlate_safe_path::TemporaryFolder;

use crate::commands::{cyclic, reading, request};
use crate::error::Error;
use crate::exit_status::Status;
use crate::startup;
use crate::terminal;
use howlate_cli::{Cli, CliCommand, CompareArgs, ComparisonFormat, CyclicArgs, MeasureArgs};
use howlate_session::Environment;
use howlate_session::{Request, Resume, measure};

/// Wake-ups of a turn: enough for a 99th percentile, a few for the warm-up.
const WAKEUPS: u64 = 110;
/// A turn's threads have to be started and joined, too.
const START: Span = Span::from_millis(8);
/// The period where none is given: short, for many turns in little time.
const PERIOD: &str = "250us";
/// Fewer rounds make not even one comparison.
const LEAST_ROUNDS: u32 = 8;

pub(crate) fn run(asked: &CompareArgs) -> Result<Status, Error> {
    let cyclic = typed(&asked.cyclic);
    let environment = startup::begin()?;
    let (choices, turn) = choices(&cyclic, asked.duration);
    let plan = choices.plan(&environment.machine())?;
    let track = recorded(&cyclic, &environment, &plan, choices.circumstances.seed)?;
    let alarms = false_alarms(&track, 1.0 - asked.confidence.0);
    let test = SelfTest {
        condition: &plan.conditions[0],
        confidence: asked.confidence.0,
        turn_ns: turn,
        rounds: choices.rounds.unwrap_or_default(),
        false_alarms: &alarms,
    };
    let is_json = asked.output_format() == ComparisonFormat::Json;
    let text =
        if is_json { render::self_test_json(&test)? } else { render::self_test(&test, terminal::width()) };
    terminal::print_or_json(&text, is_json)?;
    Ok(if is_measured_as_requested(&track.analysis) && !alarms.is_empty() {
        Status::Done
    } else {
        Status::NotTrustworthy
    })
}

/// What `howlate cyclic` would make of the words; ends the program with its message when they are wrong.
fn typed(words: &[String]) -> Box<CyclicArgs> {
    let has_period = words.iter().any(|word| word.starts_with("--period"));
    let period = ["--period", PERIOD].into_iter().filter(|_| !has_period);
    let words = ["howlate", "cyclic"].into_iter().chain(period).chain(words.iter().map(String::as_str));
    match Cli::parse_from(words).command {
        Some(CliCommand::Cyclic(cyclic)) => Box::new(cyclic),
        _ => unreachable!("the first word is `cyclic`"),
    }
}

/// The first condition of what was typed, twice, in as many short turns as there is time for; and the length
/// of one.
fn choices(asked: &CyclicArgs, duration: Span) -> (CyclicChoices, Span) {
    let mut choices = cyclic::choices(asked, asked.measuring.run.seed());
    choices.circumstances.policies.truncate(1);
    choices.circumstances.slacks.truncate(1);
    choices.circumstances.loads.truncate(1);
    choices.mechanisms = vec![choices.mechanisms[0]; 2];
    choices.periods.truncate(1);
    choices.samples = None;
    let turn = choices.periods[0].times(WAKEUPS);
    let rounds = duration.as_nanos() / (2 * turn.plus(START).as_nanos()).max(1);
    choices.rounds = Some(u32::try_from(rounds.max(u64::from(LEAST_ROUNDS))).unwrap_or(u32::MAX));
    choices.duration = Some(turn.times(rounds.max(u64::from(LEAST_ROUNDS))));
    (choices, turn)
}

/// Measures into a recording, because comparisons need every block of it.
fn recorded(asked: &CyclicArgs, environment: &Environment, plan: &Plan, seed: u64) -> Result<Track, Error> {
    let folder = TemporaryFolder::create()?;
    let MeasureArgs { run, output, .. } = &asked.measuring;
    let path = output.out.clone().unwrap_or_else(|| folder.path().join("self-test.jsonl"));
    let request = Request {
        out: Some(&path),
        stop_above: None,
        ..request("cyclic", seed, environment, run, output, None)
    };
    measure(request, environment, plan, Resume::No)?;
    Ok(reading::track(&path, reading::Texts::AsRecorded)?)
}
