//! `howlate compare --with-itself`: compares a condition with itself to count false alarms.

use clap::Parser;
use howlate_analyse::compare::{Track, false_alarms};
use howlate_analyse::is_measured_as_requested;
use howlate_model::Span;
use howlate_plan::{CyclicChoices, Plan};
use howlate_render::{self as render, ComparisonSelfTest};
use howlate_safe_path::TemporaryFolder;

use crate::commands::{cyclic, reading, request};
use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::startup;
use crate::terminal;
use howlate_cli::{Cli, CliCommand, CompareArgs, ComparisonFormat, CyclicArgs, MeasureArgs};
use howlate_session::Environment;
use howlate_session::{Request, Resume, measure};

/// Wake-ups per turn: enough for a 99th percentile, and a few for the warm-up.
const WAKEUPS: u64 = 110;
/// Time to start and join the threads of a turn.
const TURN_OVERHEAD: Span = Span::from_millis(8);
/// Default period: short, for many turns in little time.
const PERIOD: &str = "250us";
/// Fewest rounds that give a comparison.
const MIN_ROUNDS: u32 = 8;

pub(crate) fn run(args: &CompareArgs) -> Result<ExitStatus, Error> {
    let cyclic = parse_cyclic(&args.cyclic);
    let environment = startup::begin()?;
    let (choices, turn) = choices(&cyclic, args.duration);
    let plan = choices.plan(&environment.machine())?;
    let track = record(&cyclic, &environment, &plan, choices.circumstances.seed)?;
    let alarms = false_alarms(&track, 1.0 - args.confidence.0);
    let test = ComparisonSelfTest {
        condition: &plan.conditions[0],
        confidence: args.confidence.0,
        turn_ns: turn,
        rounds: choices.extent.rounds.unwrap_or_default(),
        false_alarms: &alarms,
    };
    let is_json = args.output_format() == ComparisonFormat::Json;
    let text =
        if is_json { render::self_test_json(&test)? } else { render::self_test(&test, terminal::width()) };
    terminal::print_or_json(&text, is_json)?;
    Ok(if is_measured_as_requested(&track.analysis) && !alarms.is_empty() {
        ExitStatus::Done
    } else {
        ExitStatus::NotTrustworthy
    })
}

/// Parses `arguments` as those of `howlate cyclic`; ends the program with the parser's error.
fn parse_cyclic(arguments: &[String]) -> Box<CyclicArgs> {
    let has_period = arguments.iter().any(|argument| argument.starts_with("--period"));
    let period = ["--period", PERIOD].into_iter().filter(|_| !has_period);
    let arguments =
        ["howlate", "cyclic"].into_iter().chain(period).chain(arguments.iter().map(String::as_str));
    match Cli::parse_from(arguments).command {
        Some(CliCommand::Cyclic(cyclic)) => Box::new(cyclic),
        _ => unreachable!("the first word is `cyclic`"),
    }
}

/// The first condition of `args` twice, in as many short turns as fit into `duration`; and the length of a turn.
fn choices(args: &CyclicArgs, duration: Span) -> (CyclicChoices, Span) {
    let mut choices = cyclic::choices(args, args.measuring.run.seed());
    choices.circumstances.policies.truncate(1);
    choices.circumstances.slacks.truncate(1);
    choices.circumstances.loads.truncate(1);
    choices.mechanisms = vec![choices.mechanisms[0]; 2];
    choices.periods.truncate(1);
    choices.extent.samples = None;
    let turn = choices.periods[0].times(WAKEUPS);
    let rounds = duration.as_nanos() / (2 * turn.plus(TURN_OVERHEAD).as_nanos()).max(1);
    choices.extent.rounds = Some(u32::try_from(rounds.max(u64::from(MIN_ROUNDS))).unwrap_or(u32::MAX));
    choices.extent.duration = Some(turn.times(rounds.max(u64::from(MIN_ROUNDS))));
    (choices, turn)
}

/// Measures into a file, since comparisons need all blocks.
fn record(args: &CyclicArgs, environment: &Environment, plan: &Plan, seed: u64) -> Result<Track, Error> {
    let folder = TemporaryFolder::create()?;
    let MeasureArgs { run, output, .. } = &args.measuring;
    let path = output.out.clone().unwrap_or_else(|| folder.path().join("self-test.jsonl"));
    let request = Request {
        out: Some(&path),
        stop_above: None,
        ..request("cyclic", seed, environment, run, output, None)
    };
    measure(request, environment, plan, Resume::No)?;
    Ok(reading::track(&path, reading::TextMode::AsRecorded)?)
}
