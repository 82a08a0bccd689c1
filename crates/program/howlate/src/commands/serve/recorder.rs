//! `howlate serve FOLDER`: a folder of `howlate record` that grows.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use howlate_analyse::incidents::LateCounts;
use howlate_model::shell_path;
use howlate_recording::{FolderFollower, has_ended};
use howlate_render::{late_metrics, late_metrics_protobuf, record_has_ended};
use howlate_serve::{ContentRequest, ContentSource, ServedContent, Server};

use super::{METRICS, PAGE, metrics, print_addresses, record_folder, unavailable};
use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::startup::on_interrupt;
use crate::terminal::eprint_wrapped;
use howlate_cli::TimeRangeArgs;

/// Period of the page.
const PAGE_PERIOD: &str = "24h";

/// Serves the page of the last day, and counts of the incidents from now on.
pub(super) fn serve(folder: &Path, server: &Server, is_json: bool) -> Result<ExitStatus, Error> {
    let counts = Mutex::new((FolderFollower::from_now(folder)?, LateCounts::default()));
    let end = on_interrupt()?;
    if has_ended(folder) {
        eprint_wrapped(&format!("{}\n", record_has_ended(&shell_path(folder))));
    }
    print_addresses(server, is_json)?;
    let folder = folder.to_owned();
    let contents: Arc<ContentSource> = Arc::new(move |request: &ContentRequest<'_>| match request.path {
        PAGE => page(&folder).map_or_else(unavailable, |page| ServedContent::Page(page.into())),
        METRICS => count(&counts, request).unwrap_or_else(unavailable),
        _ => ServedContent::NotFound,
    });
    server.serve_until(&end, &contents);
    Ok(ExitStatus::Done)
}

fn page(folder: &Path) -> Result<String, Error> {
    let moments = TimeRangeArgs { since: Some(PAGE_PERIOD.to_owned()), ..TimeRangeArgs::default() };
    Ok(record_folder::page(folder, &record_folder::read(folder, &moments, None)?))
}

fn count(
    counts: &Mutex<(FolderFollower, LateCounts)>,
    request: &ContentRequest<'_>,
) -> Result<ServedContent, Error> {
    let mut guard = counts.lock().unwrap_or_else(PoisonError::into_inner);
    let (follow, counts) = &mut *guard;
    follow.read(|line| counts.add(&line))?;
    Ok(match request.as_protobuf {
        true => ServedContent::Protobuf(late_metrics_protobuf(counts).into()),
        false => metrics(late_metrics(counts).into(), request),
    })
}
