//! What a folder of `howlate record` says.

use std::path::{Path, PathBuf};

use howlate_analyse::incidents::Kept;
use howlate_blackbox::user_names;
use howlate_model::Span;
use howlate_record::{is_rotated, read_between};
use howlate_render::Incidents;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::cli::{Moments, Stretch};
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

/// Prints it.
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
    let (from, until) = moments.stretch(now, &zone).map_err(Error::Moment)?;
    let mut kept = Kept::default();
    let read = read_between(folder, (from, until), |line| {
        kept.add(line, |at, before| lies_within(at, before, (from, until)))
    })?;
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

/// Whether a moment, given as a date and time and how long before, lies within the stretch that is meant.
fn lies_within(at: &str, before: Span, (from, until): Stretch) -> bool {
    let back = SignedDuration::from_nanos(i64::try_from(before.as_nanos()).unwrap_or(i64::MAX));
    let Some(at) = at.parse::<Timestamp>().ok().and_then(|at| at.checked_sub(back).ok()) else {
        return false;
    };
    from.is_none_or(|from| at >= from) && until.is_none_or(|until| at < until)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_in_the_stretch_is_shown() {
        let at = |text: &str| Some(text.parse::<Timestamp>().unwrap());
        let minute = (at("2026-11-25T03:12:00Z"), at("2026-11-25T03:13:00Z"));
        let lies = |text: &str, before| lies_within(text, Span::from_secs(before), minute);
        assert!(lies("2026-11-25T03:12:00.000001Z", 0) && lies("2026-11-25T03:12:59.999Z", 0));
        assert!(!lies("2026-11-25T03:11:59.999Z", 0) && !lies("2026-11-25T03:13:00Z", 0));
        assert!(lies("2026-11-25T03:13:00Z", 30), "the middle of the minute that ended then");
        assert!(!lies("2026-11-25T03:12:00Z", 30) && !lies("no time", 0));
        assert!(lies_within("2026-11-25T03:13:00Z", Span::ZERO, (None, None)));
    }
}
