//! A program that is watched meanwhile: what is known of it so far.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use howlate_analyse::Analysis;
use howlate_render as render;
use howlate_report::{NamedRecording, ReportInput, page};
use howlate_serve::{Answer, Contents, Server, Wanted};
use howlate_watch_session::{AnalysisQuery, WatchOutcome};
use howlate_watched_program::WatchTarget;

use super::{METRICS, PAGE, say_where};
use crate::commands::watch;
use crate::error::Error;
use crate::exit_status::Status;
use crate::startup;
use howlate_cli::WatchArgs;

/// How long whoever watches may take to show what is known: it looks up twenty times a second.
const PATIENCE: Duration = Duration::from_secs(10);

/// Watches `process` and shows what is known of it, until it ends. Nothing is saved.
pub(super) fn serve(process: &str, server: &Server, is_json: bool) -> Result<Status, Error> {
    let environment = startup::begin()?;
    let mut watched = WatchTarget::new(Some(process), &[], true, None)?;
    let (ask, asked) = channel();
    let begun = watch::begin(&WatchArgs::parse(process), &environment, &mut watched, None)?;
    let watching = begun.with_queries(asked);
    say_where(server, is_json)?;
    let (ask, name, end) = (Mutex::new(ask), watched.name().to_owned(), Arc::new(AtomicBool::new(false)));
    let contents: Arc<Contents> = Arc::new(move |wanted: &Wanted<'_>| match wanted.path {
        PAGE => seen(&ask, page_of(name.clone())).map_or_else(late, Answer::Page),
        METRICS if wanted.as_openmetrics2 => {
            seen(&ask, |analysis| render::openmetrics2(&[analysis], &[String::new()]))
                .map_or_else(late, Answer::OpenMetrics2)
        }
        METRICS => seen(&ask, metrics).map_or_else(late, |text| super::metrics(text, wanted)),
        _ => Answer::Nothing,
    });
    let WatchOutcome { no_data_reason: nothing, .. } = std::thread::scope(|scope| {
        scope.spawn(|| server.answer_until(&end, &contents));
        let ended = watching.run(&mut watched, &environment.interrupted);
        end.store(true, Ordering::Relaxed);
        ended
    });
    nothing.map_or(Ok(Status::Done), |nothing| Err(nothing.into()))
}

fn metrics(analysis: &Analysis) -> String {
    // A name is a label only where there are several.
    render::prometheus(&[analysis], &[String::new()])
}

fn page_of(name: String) -> impl FnOnce(&Analysis) -> String + Send + 'static {
    move |analysis| {
        page(&ReportInput { recordings: &[NamedRecording::new(&name, analysis)], comparison: None })
    }
}

/// What `make` makes of what is known by now; it is called by whoever watches, and knows it.
fn seen(
    ask: &Mutex<Sender<AnalysisQuery>>,
    make: impl FnOnce(&Analysis) -> String + Send + 'static,
) -> Option<Arc<str>> {
    let (answer, answered) = sync_channel(1);
    let look: AnalysisQuery = Box::new(move |analysis| {
        let mut so_far = analysis.clone();
        so_far.is_running = true;
        drop(answer.send(make(&so_far).into()));
    });
    ask.lock().unwrap_or_else(PoisonError::into_inner).send(look).ok()?;
    answered.recv_timeout(PATIENCE).ok()
}

fn late() -> Answer {
    Answer::NotNow("The watch is over, or takes too long to say what is known.".to_owned())
}
