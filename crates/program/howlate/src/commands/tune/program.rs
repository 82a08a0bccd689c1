//! `howlate tune program`

use howlate_guard::Guard;
use howlate_model::Caveat;
use howlate_procfs::Root;
use howlate_session::{Environment, Request};
use howlate_tune::{PreparedProgram, Sight, TuneError, Whom, look_at_settings};
use howlate_watch_session::ChosenTracer;
use howlate_watched_program::WatchTarget;

use super::{list, print, restore, turning};
use crate::commands::{detail, say_kept};
use crate::error::Error;
use crate::exit_status::Status;
use crate::startup;
use crate::terminal;
use howlate_cli::TuneProgram;
use howlate_recording::HistoryEntry;

pub(super) fn run(asked: &TuneProgram) -> Result<Status, Error> {
    if asked.how.restore {
        return restore(asked.printing.json);
    }
    if asked.how.dry_run {
        return list_for(asked);
    }
    let environment = startup::begin()?;
    let guard = Guard::default();
    guard.begin().map_err(TuneError::from)?;
    let mut subject = WatchTarget::new(asked.process.as_deref(), &asked.program, asked.printing.json, None)?;
    let (mut sight, caveats) = see(asked, &mut subject)?;
    subject.release()?;
    let told = try_on(asked, &environment, guard, (&mut subject, &mut sight), caveats);
    let failure = subject.end(&environment.interrupted);
    let status = told?;
    failure.map_or(Ok(status), |failure| Err(failure.into()))
}

/// Begins to look at it.
fn see(asked: &TuneProgram, subject: &mut WatchTarget) -> Result<(Sight, Vec<Caveat>), Error> {
    let ChosenTracer { tracer, no_tracer_reason, caveats, .. } = ChosenTracer::choose(asked.tracer, subject)?;
    let sight = Sight::begin(tracer, subject, &asked.options())?;
    match no_tracer_reason {
        // A program that runs already cannot have marked any loop for this howlate.
        Some(error) if matches!(subject, WatchTarget::Running(_)) => Err(error.into()),
        _ if !sight.is_traced() && matches!(subject, WatchTarget::Running(_)) => {
            Err(Error::NothingWatches(asked.tracer))
        }
        _ => Ok((sight, caveats)),
    }
}

fn try_on(
    asked: &TuneProgram,
    environment: &Environment,
    guard: Guard,
    seen: (&mut WatchTarget, &mut Sight),
    caveats: Vec<Caveat>,
) -> Result<Status, Error> {
    let seed = asked.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    let prepared = PreparedProgram::begin(&asked.options(), environment, guard, seen, caveats, seed)?;
    let turning = turning(prepared.settings(), asked.printing.quiet)?;
    if !asked.printing.quiet {
        terminal::say(&format!("{}\n", prepared.how_long()));
    }
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
        screen: terminal::display(asked.display.live, asked.printing.quiet, environment, None),
        until: None,
        traced: None,
    };
    let found = prepared.measure(request, environment, turning)?;
    print(&found, asked.printing.json, detail(asked.details, None))?;
    say_kept(kept, asked.printing.quiet);
    Ok(found.reliance().into())
}

/// Every setting with its state here; neither is the program started nor anything changed.
fn list_for(asked: &TuneProgram) -> Result<Status, Error> {
    let environment = Environment::read();
    let look = |whom| look_at_settings(&asked.options(), &whom, &environment);
    let settings = match &asked.process {
        Some(process) => look(Whom::Running(&howlate_watched_program::find_process(
            &Root::live(),
            process,
            std::process::id(),
        )?)),
        None => {
            let program = asked.program.first().map(|word| word.to_string_lossy());
            look(Whom::ToStart(&program.unwrap_or_default()))
        }
    }?;
    list(&settings, &asked.how, asked.printing.json)
}
