//! `howlate serve --process`: results of a watched program so far.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use howlate_analyse::Analysis;
use howlate_render as render;
use howlate_report::{NamedRecording, ReportInput, page};
use howlate_serve::{ContentRequest, ContentSource, ServedContent, Server};
use howlate_watch_session::{AnalysisQuery, WatchOutcome};
use howlate_watched_program::WatchTarget;

use super::{METRICS, PAGE, print_addresses};
use crate::commands::watch;
use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::startup;
use howlate_cli::WatchArgs;

/// Longest wait for the watching thread, which handles requests twenty times a second.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Watches `process` until it ends and serves its results. Nothing is saved.
pub(super) fn serve(process: &str, server: &Server, is_json: bool) -> Result<ExitStatus, Error> {
    let environment = startup::begin()?;
    let mut watched = WatchTarget::new(Some(process), &[], true, None)?;
    let (sender, requests) = channel();
    let watching = watch::begin(&WatchArgs::parse(process), &environment, &mut watched, None)?;
    let watching = watching.with_queries(requests);
    print_addresses(server, is_json)?;
    let (sender, name, end) =
        (Mutex::new(sender), watched.name().to_owned(), Arc::new(AtomicBool::new(false)));
    let contents: Arc<ContentSource> = Arc::new(move |request: &ContentRequest<'_>| match request.path {
        PAGE => render_so_far(&sender, page_of(name.clone())).map_or_else(too_late, ServedContent::Page),
        METRICS if request.as_openmetrics2 => {
            render_so_far(&sender, |analysis| render::openmetrics2(&[analysis], &[String::new()]))
                .map_or_else(too_late, ServedContent::OpenMetrics2)
        }
        METRICS => {
            render_so_far(&sender, metrics).map_or_else(too_late, |text| super::metrics(text, request))
        }
        _ => ServedContent::NotFound,
    });
    let WatchOutcome { no_data_reason, .. } = std::thread::scope(|scope| {
        scope.spawn(|| server.serve_until(&end, &contents));
        let outcome = watching.run(&mut watched, &environment.interrupted);
        end.store(true, Ordering::Relaxed);
        outcome
    });
    no_data_reason.map_or(Ok(ExitStatus::Done), |reason| Err(reason.into()))
}

fn metrics(analysis: &Analysis) -> String {
    // Without a name: it becomes a label only where there are several recordings.
    render::prometheus(&[analysis], &[String::new()])
}

fn page_of(name: String) -> impl FnOnce(&Analysis) -> String + Send + 'static {
    move |analysis| {
        page(&ReportInput { recordings: &[NamedRecording::new(&name, analysis)], comparison: None })
    }
}

/// The result of `make`, which the watching thread calls with its analysis; `None` after its end or the timeout.
fn render_so_far(
    sender: &Mutex<Sender<AnalysisQuery>>,
    make: impl FnOnce(&Analysis) -> String + Send + 'static,
) -> Option<Arc<str>> {
    let (answer, response) = sync_channel(1);
    let look: AnalysisQuery = Box::new(move |analysis| {
        let mut so_far = analysis.clone();
        so_far.is_running = true;
        drop(answer.send(make(&so_far).into()));
    });
    sender.lock().unwrap_or_else(PoisonError::into_inner).send(look).ok()?;
    response.recv_timeout(ANSWER_TIMEOUT).ok()
}

fn too_late() -> ServedContent {
    ServedContent::Unavailable("The watch is over, or takes too long to say what is known.".to_owned())
}
