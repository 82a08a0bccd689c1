//! A folder of `howlate record`, while it grows.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use howlate_analyse::incidents::LateCounts;
use howlate_model::shell_path;
use howlate_recording::{Follow, has_ended};
use howlate_render::{late_metrics, late_metrics_protobuf, record_has_ended};
use howlate_serve::{Answer, Contents, Server, Wanted};

use super::{METRICS, PAGE, metrics, not_now, recorded, say_where};
use crate::error::Error;
use crate::exit_status::Status;
use crate::startup::on_interrupt;
use crate::terminal::tell;
use howlate_cli::TimeRangeArgs;

/// What the page shows.
const SHOWN: &str = "24h";

/// Serves the page of the last day, and counts of what is recorded from now on.
pub(super) fn serve(folder: &Path, server: &Server, is_json: bool) -> Result<Status, Error> {
    let counted = Mutex::new((Follow::from_now(folder)?, LateCounts::default()));
    let end = on_interrupt()?;
    if has_ended(folder) {
        tell(&format!("{}\n", record_has_ended(&shell_path(folder))));
    }
    say_where(server, is_json)?;
    let folder = folder.to_owned();
    let contents: Arc<Contents> = Arc::new(move |wanted: &Wanted<'_>| match wanted.path {
        PAGE => page(&folder).map_or_else(not_now, |page| Answer::Page(page.into())),
        METRICS => count(&counted, wanted).unwrap_or_else(not_now),
        _ => Answer::Nothing,
    });
    server.answer_until(&end, &contents);
    Ok(Status::Done)
}

fn page(folder: &Path) -> Result<String, Error> {
    let moments = TimeRangeArgs { since: Some(SHOWN.to_owned()), ..TimeRangeArgs::default() };
    Ok(recorded::page(folder, &recorded::read(folder, &moments, None)?))
}

fn count(counted: &Mutex<(Follow, LateCounts)>, wanted: &Wanted<'_>) -> Result<Answer, Error> {
    let mut counted = counted.lock().unwrap_or_else(PoisonError::into_inner);
    let (follow, counts) = &mut *counted;
    follow.read(|line| counts.add(&line))?;
    Ok(match wanted.as_protobuf {
        true => Answer::Protobuf(late_metrics_protobuf(counts).into()),
        false => metrics(late_metrics(counts).into(), wanted),
    })
}
