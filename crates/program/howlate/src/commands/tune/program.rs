//! `howlate tune program`: tries settings on the threads of a program.

use howlate_guard::Guard;
use howlate_model::Caveat;
use howlate_procfs::Root;
use howlate_session::{Environment, Request};
use howlate_tune::{ProgramObserver, ProgramTuner, TuneError, TuneTarget, list_settings};
use howlate_watch_session::ChosenTracer;
use howlate_watched_program::WatchTarget;

use super::{list, print, restore, turning};
use crate::commands::{detail, end_history};
use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::startup;
use crate::terminal;
use howlate_cli::TuneProgram;
use howlate_recording::HistoryEntry;

pub(super) fn run(args: &TuneProgram) -> Result<ExitStatus, Error> {
    if args.how.restore {
        return restore(args.printing.json);
    }
    if args.how.dry_run {
        return list_for(args);
    }
    let environment = startup::begin()?;
    let guard = Guard::default();
    guard.begin().map_err(TuneError::from)?;
    let mut subject = WatchTarget::new(args.process.as_deref(), &args.program, args.printing.json, None)?;
    let (mut sight, caveats) = begin_sight(args, &mut subject)?;
    subject.release()?;
    let result = measure(args, &environment, guard, (&mut subject, &mut sight), caveats);
    let failure = subject.end(&environment.interrupted);
    let status = result?;
    failure.map_or(Ok(status), |failure| Err(failure.into()))
}

fn begin_sight(
    args: &TuneProgram,
    subject: &mut WatchTarget,
) -> Result<(ProgramObserver, Vec<Caveat>), Error> {
    let ChosenTracer { tracer, no_tracer_reason, caveats, .. } = ChosenTracer::choose(args.tracer, subject)?;
    let sight = ProgramObserver::begin(tracer, subject, &args.options())?;
    match no_tracer_reason {
        // A running program cannot have marked loops for this howlate.
        Some(error) if matches!(subject, WatchTarget::Running(_)) => Err(error.into()),
        _ if !sight.is_traced() && matches!(subject, WatchTarget::Running(_)) => {
            Err(Error::TracerCannotWatch(args.tracer))
        }
        _ => Ok((sight, caveats)),
    }
}

fn measure(
    args: &TuneProgram,
    environment: &Environment,
    guard: Guard,
    subject_and_sight: (&mut WatchTarget, &mut ProgramObserver),
    caveats: Vec<Caveat>,
) -> Result<ExitStatus, Error> {
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    let prepared =
        ProgramTuner::begin(&args.options(), environment, guard, subject_and_sight, caveats, seed)?;
    let turning = turning(prepared.settings(), args.printing.quiet)?;
    if !args.printing.quiet {
        terminal::eprint(&format!("{}\n", prepared.duration_text()));
    }
    let history = HistoryEntry::begin("tune", args.out.as_deref(), args.no_save);
    let history_path = history.path();
    let request = Request {
        command: "tune",
        seed,
        out: args.out.as_deref(),
        kept: history_path.as_deref(),
        samples_out: None,
        node: environment.node.clone(),
        dma_latency_us: None,
        stop_above: None,
        screen: terminal::display(args.display.live, args.printing.quiet, environment, None),
        until: None,
        traced: None,
        on_late: Vec::new(),
    };
    let found = prepared.measure(request, environment, turning)?;
    print(&found, args.printing.json, detail(args.details, None))?;
    end_history(history, args.printing.quiet);
    Ok(found.reliability().into())
}

/// Prints every setting with its state, without starting the program or changing anything.
fn list_for(args: &TuneProgram) -> Result<ExitStatus, Error> {
    let environment = Environment::read();
    let list_for_target = |subject| list_settings(&args.options(), &subject, &environment);
    let settings = match &args.process {
        Some(process) => list_for_target(TuneTarget::Running(&howlate_watched_program::find_process(
            &Root::live(),
            process,
            std::process::id(),
        )?)),
        None => {
            let program = args.program.first().map(|program| program.to_string_lossy());
            list_for_target(TuneTarget::NotStarted(&program.unwrap_or_default()))
        }
    }?;
    list(&settings, &args.how, args.printing.json)
}
