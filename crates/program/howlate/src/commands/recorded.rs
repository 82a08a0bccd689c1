//! What a folder of `howlate record` says, whatever command asks.

use std::io;
use std::path::{Path, PathBuf};

use howlate_analyse::incidents::Grouping;
use howlate_blackbox::user_names;
use howlate_model::Finding;
use howlate_open_results::NotRead;
use howlate_procfs::Root;
use howlate_recording::{ReadError, is_rotated};
use howlate_render::{Incidents, TopBy};
use howlate_report::incidents_page;
use howlate_system::examine;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::{detail, reading};
use crate::error::Error;
use crate::exit_status::Status;
use crate::terminal;
use howlate_cli::{OutputFormat, ShowArgs, TimeRangeArgs, TopArgs, WhyArgs};

/// Where `howlate record` writes if nothing else is said.
const USUAL: &str = "/var/lib/howlate";

/// The folder that is meant, if what was named is one of `howlate record`; where nothing was, the usual one, if it is there.
pub(crate) fn folder<'a>(named: &'a [PathBuf], moments: &TimeRangeArgs) -> Result<Option<&'a Path>, Error> {
    match named {
        [only] if is_rotated(only) => Ok(Some(only)),
        [] if moments.is_set() && is_rotated(Path::new(USUAL)) => Ok(Some(Path::new(USUAL))),
        _ if moments.is_set() => Err(not_of_record(named.first())),
        _ => Ok(None),
    }
}

/// Why what was named is not asked. What is not there, or cannot be read, says so itself; the latter may well be one.
fn not_of_record(named: Option<&PathBuf>) -> Error {
    let path = named.cloned().unwrap_or_else(|| PathBuf::from(USUAL));
    let unreadable = path.read_dir().err().map(|source| (path, source));
    let says_more = |source: &io::Error| match source.kind() {
        io::ErrorKind::NotADirectory => false,
        io::ErrorKind::NotFound => named.is_some(),
        _ => true,
    };
    match unreadable.filter(|(_, source)| says_more(source)) {
        Some((path, source)) => NotRead::from(ReadError::Io { path, source }).into(),
        None => Error::NotOfRecord { path: named.cloned() },
    }
}

/// What a folder holds of these moments.
pub(super) fn read(folder: &Path, moments: &TimeRangeArgs, by: Option<Grouping>) -> Result<Incidents, Error> {
    let (now, zone) = (Timestamp::now(), TimeZone::system());
    let stretch = moments.time_range(now, &zone)?;
    Ok(reading::incidents(folder, stretch, by.unwrap_or_default(), user_names(), zone)?)
}

pub(super) const fn status(incidents: &Incidents) -> Status {
    if incidents.damaged.is_empty() { Status::Done } else { Status::NotTrustworthy }
}

/// The page on it, with the longest wait of which there is a timeline.
pub(super) fn page(folder: &Path, kept: &Incidents) -> String {
    let longest = kept.kept.incidents.iter().max_by_key(|one| (one.timeline.is_some(), one.latency));
    let cpus = longest.and_then(|one| reading::timeline(folder, one)).unwrap_or_default();
    incidents_page(kept, longest.map(|one| (one, cpus.as_slice())))
}

fn print(incidents: &Incidents, text: &str) -> Result<Status, Error> {
    terminal::print(text)?;
    Ok(status(incidents))
}

fn print_json(incidents: &Incidents) -> Result<Status, Error> {
    terminal::print_or_json(&incidents.json()?, true)?;
    Ok(status(incidents))
}

pub(super) fn show(folder: &Path, asked: &ShowArgs) -> Result<Status, Error> {
    let kept = read(folder, &asked.moments, asked.together.group)?;
    match asked.output_format() {
        OutputFormat::Json => print_json(&kept),
        OutputFormat::Folded => print(&kept, &kept.folded()),
        OutputFormat::Text => print(&kept, &kept.text(detail(asked.details, asked.by), terminal::width())),
        OutputFormat::Perfetto => trace(folder, &kept),
        _ => Err(Error::FormatOfRecord),
    }
}

/// Prints a trace, which no terminal can show.
pub(super) fn print_trace(bytes: &[u8]) -> Result<(), Error> {
    if terminal::shows_results() {
        return Err(Error::TraceToTerminal);
    }
    Ok(terminal::print_bytes(bytes)?)
}

/// A trace of what was kept.
fn trace(folder: &Path, kept: &Incidents) -> Result<Status, Error> {
    let timelines = reading::timelines(folder, &kept.kept.incidents);
    print_trace(&kept.perfetto(timelines))?;
    Ok(status(kept))
}

pub(super) fn why(folder: &Path, asked: &WhyArgs) -> Result<Status, Error> {
    let kept = read(folder, &asked.moments, None)?;
    if asked.printing.json {
        return print_json(&kept);
    }
    print(&kept, &kept.why(&findings_of(&kept), detail(asked.details, asked.by), terminal::width()))
}

/// What doctor finds now, where this is the machine.
fn findings_of(kept: &Incidents) -> Vec<Finding> {
    let (root, then) = (Root::live(), kept.machine.as_ref().map(|(node, _)| node));
    let here = howlate_system::node(&root);
    let is_here = then.is_some_and(|then| {
        (then.machine.is_some() && then.machine == here.machine)
            || (then.boot.is_some() && then.boot == here.boot)
    });
    if is_here { examine(&root) } else { Vec::new() }
}

pub(super) fn top(asked: &TopArgs) -> Result<Status, Error> {
    let named: Vec<PathBuf> = asked.process().map(PathBuf::from).into_iter().collect();
    let folder = folder(&named, &asked.moments)?.unwrap_or(Path::new(USUAL));
    let by = match asked.by() {
        TopBy::Thread => return Err(Error::ThreadsOfRecord),
        TopBy::Group => Grouping::Cgroup,
        TopBy::Process | TopBy::Culprit => Grouping::Process,
    };
    let kept = read(folder, &asked.moments, Some(by))?;
    if asked.json {
        return print_json(&kept);
    }
    print(&kept, &kept.top(asked.by() == TopBy::Culprit, detail(asked.details, None), terminal::width()))
}
