//! What a folder of `howlate record` says.

use std::path::{Path, PathBuf};

use howlate_analyse::incidents::Kept;
use howlate_blackbox::user_names;
use howlate_model::Stretch;
use howlate_recording::{is_rotated, read_between};
use howlate_render::Incidents;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::cli::Moments;
use crate::error::Error;
use crate::exit_status::Status;
use crate::terminal;

/// The folder that is meant, if what was named is one of `howlate record`.
pub(crate) fn folder<'a>(named: &'a [PathBuf], moments: &Moments) -> Result<Option<&'a Path>, Error> {
    match named {
        [only] if is_rotated(only) => Ok(Some(only)),
        _ if moments.is_asked() => Err(Error::NotOfRecord { path: named.first().cloned() }),
        _ => Ok(None),
    }
}

/// Prints what a folder of `record` holds of these moments.
pub(crate) fn show(folder: &Path, moments: &Moments, is_json: bool) -> Result<Status, Error> {
    let incidents = read(folder, moments)?;
    if is_json {
        terminal::print_or_json(&incidents.json()?, true)?;
    } else {
        terminal::print(&incidents.text(terminal::width()))?;
    }
    Ok(if incidents.damaged.is_empty() { Status::Done } else { Status::NotTrustworthy })
}

fn read(folder: &Path, moments: &Moments) -> Result<Incidents, Error> {
    let (now, zone) = (Timestamp::now(), TimeZone::system());
    let stretch = moments.stretch(now, &zone)?;
    let Stretch { from, until } = stretch;
    let mut kept = Kept::default();
    let read =
        read_between(folder, (from, until), |line| kept.add(line, |at, before| stretch.holds(at, before)))?;
    // Of one that was not among the worst for long, the file is gone.
    let is_there =
        |name: &str| Path::new(name).file_name() == Some(name.as_ref()) && folder.join(name).is_file();
    for one in &mut kept.incidents {
        one.timeline = one.timeline.take().filter(|name| is_there(name));
    }
    Ok(Incidents {
        kept,
        late_above: read.header.and_then(|header| header.late_above),
        from,
        until,
        oldest: read.since,
        by: moments.group.unwrap_or_default(),
        users: user_names(),
        zone,
        cut_off: read.cut_off,
        damaged: read.damaged,
    })
}
