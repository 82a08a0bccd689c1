//! A folder of `howlate record`, for all commands that read one.

use std::io;
use std::path::{Path, PathBuf};

use howlate_analyse::incidents::Grouping;
use howlate_blackbox::user_names;
use howlate_model::Finding;
use howlate_open_results::OpenError;
use howlate_procfs::Root;
use howlate_recording::{ReadError, is_rotated};
use howlate_render::{Detail, IncidentReport, TopBy};
use howlate_report::incidents_page;
use howlate_system::examine;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::formats::answer;
use super::{detail, reading};
use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::terminal;
use howlate_cli::{OutputFormat, ShowArgs, TimeRangeArgs, TopArgs, WhyArgs};

/// Default folder of `howlate record`.
const DEFAULT_FOLDER: &str = "/var/lib/howlate";

/// The folder of `howlate record` that was named, or the default one where only a range of time was given; `None` for recordings.
pub(crate) fn folder<'a>(paths: &'a [PathBuf], moments: &TimeRangeArgs) -> Result<Option<&'a Path>, Error> {
    match paths {
        [folder] if is_rotated(folder) => Ok(Some(folder)),
        [] if moments.is_set() && is_rotated(Path::new(DEFAULT_FOLDER)) => {
            Ok(Some(Path::new(DEFAULT_FOLDER)))
        }
        _ if moments.is_set() => Err(not_record_folder(paths.first())),
        _ => Ok(None),
    }
}

/// The reason why the path is not used. Errors of the file system come first: an unreadable folder may be a folder of recordings.
fn not_record_folder(path: Option<&PathBuf>) -> Error {
    let path_or_default = path.cloned().unwrap_or_else(|| PathBuf::from(DEFAULT_FOLDER));
    let unreadable = path_or_default.read_dir().err().map(|source| (path_or_default, source));
    let is_informative = |source: &io::Error| match source.kind() {
        io::ErrorKind::NotADirectory => false,
        io::ErrorKind::NotFound => path.is_some(),
        _ => true,
    };
    match unreadable.filter(|(_, source)| is_informative(source)) {
        Some((path, source)) => OpenError::from(ReadError::Io { path, source }).into(),
        None => Error::NotRecordFolder { path: path.cloned() },
    }
}

/// The incidents of a folder within a range of time.
pub(super) fn read(
    folder: &Path,
    moments: &TimeRangeArgs,
    by: Option<Grouping>,
) -> Result<IncidentReport, Error> {
    let (now, zone) = (Timestamp::now(), TimeZone::system());
    let time_range = moments.time_range(now, &zone)?;
    Ok(reading::incidents(folder, time_range, by.unwrap_or_default(), user_names(), zone)?)
}

pub(super) const fn status(incidents: &IncidentReport) -> ExitStatus {
    if incidents.damaged.is_empty() { ExitStatus::Done } else { ExitStatus::NotTrustworthy }
}

/// The HTML page, with the timeline of the longest wait that has one.
pub(super) fn page(folder: &Path, incidents: &IncidentReport) -> String {
    let longest = incidents
        .recording
        .incidents
        .iter()
        .max_by_key(|incident| (incident.timeline.is_some(), incident.latency));
    let cpus = longest.and_then(|incident| reading::timeline(folder, incident)).unwrap_or_default();
    incidents_page(incidents, longest.map(|incident| (incident, cpus.as_slice())))
}

fn print(incidents: &IncidentReport, text: &str) -> Result<ExitStatus, Error> {
    terminal::print(text)?;
    Ok(status(incidents))
}

fn print_json(incidents: &IncidentReport, detail: Detail) -> Result<ExitStatus, Error> {
    terminal::print_or_json(&answer(incidents.json()?, detail)?, true)?;
    Ok(status(incidents))
}

pub(super) fn show(folder: &Path, args: &ShowArgs) -> Result<ExitStatus, Error> {
    let incidents = read(folder, &args.moments, args.together.group_by)?;
    let detail = detail(args.details, args.by);
    match args.output_format() {
        OutputFormat::Json => print_json(&incidents, detail),
        OutputFormat::Folded => print(&incidents, &incidents.folded()),
        OutputFormat::Text => print(&incidents, &incidents.text(detail, terminal::width())),
        OutputFormat::Perfetto => trace(folder, &incidents),
        _ => Err(Error::RecordFolderFormat),
    }
}

/// Prints a binary trace, unless standard output is a terminal.
pub(super) fn print_trace(bytes: &[u8]) -> Result<(), Error> {
    if terminal::stdout_is_terminal() {
        return Err(Error::TraceToTerminal);
    }
    Ok(terminal::print_bytes(bytes)?)
}

fn trace(folder: &Path, incidents: &IncidentReport) -> Result<ExitStatus, Error> {
    let timelines = reading::timelines(folder, &incidents.recording.incidents);
    print_trace(&incidents.perfetto(timelines))?;
    Ok(status(incidents))
}

pub(super) fn why(folder: &Path, args: &WhyArgs) -> Result<ExitStatus, Error> {
    let incidents = read(folder, &args.moments, None)?;
    let detail = detail(args.printing.details, args.by);
    if args.printing.common.json {
        return print_json(&incidents, detail);
    }
    print(&incidents, &incidents.why(&current_findings(&incidents), detail, terminal::width()))
}

/// Findings of this machine, if the folder comes from it.
fn current_findings(incidents: &IncidentReport) -> Vec<Finding> {
    let (root, recorded_node) = (Root::live(), incidents.machine.as_ref().map(|(node, _)| node));
    let this_node = howlate_system::node(&root);
    let is_here = recorded_node.is_some_and(|recorded_node| {
        (recorded_node.machine.is_some() && recorded_node.machine == this_node.machine)
            || (recorded_node.boot.is_some() && recorded_node.boot == this_node.boot)
    });
    if is_here { examine(&root) } else { Vec::new() }
}

pub(super) fn top(args: &TopArgs) -> Result<ExitStatus, Error> {
    let paths: Vec<PathBuf> = args.process().map(PathBuf::from).into_iter().collect();
    let folder = folder(&paths, &args.moments)?.unwrap_or(Path::new(DEFAULT_FOLDER));
    let by = match args.by {
        TopBy::Thread => return Err(Error::NoThreadsInRecordFolder),
        TopBy::Group => Grouping::Cgroup,
        TopBy::Process | TopBy::Culprit => Grouping::Process,
    };
    let incidents = read(folder, &args.moments, Some(by))?;
    let detail = detail(args.details, None);
    if args.json {
        return print_json(&incidents, detail);
    }
    print(&incidents, &incidents.top(args.by == TopBy::Culprit, detail, terminal::width()))
}
