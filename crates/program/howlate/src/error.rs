//! Errors of all commands, with hints.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use howlate_blackbox::{InstallError, RecordError, SnapError};
use howlate_cli::{NothingToTrace, built_in_plans};
use howlate_fleet::{FleetError, HostError};
use howlate_gaps::GapError;
use howlate_guest::GuestError;
use howlate_load::StartError;
use howlate_model::{Caveat, TimeRangeError, TracerRefusal, shell_path, shell_word};
use howlate_open_results::OpenError;
use howlate_plan::PlanError;
use howlate_recording::{CreateError, ReadError, SourceError};
use howlate_render::legible_lines;
use howlate_report::{Chart, NoPicture, NoPng};
use howlate_serve::ServeError;
use howlate_session::{GuestsError, SessionError};
use howlate_trace::{Choice, TracerMissing};
use howlate_tune::TuneError;
use howlate_watch_session::AttachError;
use howlate_watched_program::{ProgramFailed, WatchError};
use rustix::process::geteuid;

use crate::terminal::{ERROR, HINT, paint};
use howlate_model::refused_option::{FleetOption, NotForGuests, NotForTune, OutputOfGuest};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Sources(#[from] SourceError),
    #[error(transparent)]
    OpenError(#[from] OpenError),
    #[error("cannot read the plan {}: {source}", path.display())]
    PlanUnreadable { path: PathBuf, command: &'static str, source: io::Error },
    #[error("{}{}: {reason}", path.display(), line.map_or(String::new(), |line| format!(" line {line}")))]
    PlanFile { path: PathBuf, line: Option<usize>, reason: String },
    #[error("{} would be file {} of this plan; at most {most} may be included", path.display(), most + 1)]
    PlanIncludes { path: PathBuf, most: usize },
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Gaps(#[from] GapError),
    #[error("cannot write the result: {0}")]
    Output(#[from] io::Error),
    #[error("cannot write the result: {0}")]
    Json(#[from] serde_json::Error),
    #[error("there is one recording, and nothing to compare it with")]
    NothingToCompare { differ: Vec<&'static str> },
    #[error("--by compares conditions of one recording; found {found}")]
    ByNeedsOneRecording { found: usize },
    #[error("no condition of the base is in any other recording")]
    NothingMatches { refused: Option<String> },
    #[error("no condition has {property} `{found}`")]
    NoSuchValue { property: &'static str, found: String, values: Vec<String> },
    #[error("no two conditions differ in {property} and nothing else")]
    NothingDiffers { property: &'static str, refused: Option<String>, differ: Vec<&'static str> },
    #[error(transparent)]
    Guest(#[from] GuestError),
    #[error("`{0}` cannot be used in a guest")]
    NotForGuests(NotForGuests),
    #[error("{0} belongs to `howlate guest` itself, not to what runs in the guest")]
    OutputOfGuest(OutputOfGuest),
    #[error("there is no folder {}", .0.display())]
    NoFolder(PathBuf),
    #[error("no data for chart `{}`", .0.kind)]
    NoPicture(NoPicture),
    #[error("cannot write {}: {source}", path.display())]
    Prometheus { path: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}", path.display())]
    Export { path: PathBuf, source: io::Error },
    #[error("{} and {} name the same file: {}", options[0], options[1], path.display())]
    SameFile { options: [&'static str; 2], path: PathBuf },
    #[error("{0}")]
    NoPng(NoPng),
    #[error("--chart writes one picture, as svg or png")]
    ChartIsPicture,
    #[error("no report is written as `.{ending}`: {}", path.display())]
    ReportEnding { path: PathBuf, ending: String },
    #[error("{0} is one picture, and none is named")]
    NoChart(&'static str),
    #[error("what goes to standard output cannot be opened")]
    NothingToOpen,
    #[error("cannot open {}: xdg-open {reason}", path.display())]
    CannotOpen { path: PathBuf, reason: String },
    #[error("no run has been saved here")]
    NoSavedRun,
    #[error("nothing in {} was traced", path.display())]
    NothingTraced { path: PathBuf },
    #[error("no periodic thread was measured; an RT Dataset needs one")]
    NothingPeriodic,
    #[error("no sleep or message was measured, and only these are kept one by one, in order")]
    NoSingleSamples,
    #[error("none of this can be traced: {}", not_traced(&.0.0))]
    NothingToTrace(NothingToTrace),
    #[error(transparent)]
    Watch(#[from] WatchError),
    #[error("`--tracer {0}` does not see when the threads of a program should have run")]
    TracerCannotWatch(Choice),
    #[error("requests to servers are seen by the bpf tracer only, which is not available: {0}")]
    NoRequests(TracerRefusal),
    #[error("`--tracer {0}` does not see requests to servers")]
    TracerWithoutRequests(Choice),
    #[error("what processes wait for cannot be seen here: {0}")]
    Waits(TracerRefusal),
    #[error(transparent)]
    ProgramFailed(#[from] ProgramFailed),
    #[error(transparent)]
    Tune(#[from] TuneError),
    #[error("{0} is not for `howlate tune`")]
    NotForTune(NotForTune),
    #[error(transparent)]
    Fleet(#[from] FleetError),
    #[error(transparent)]
    Host(#[from] HostError),
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error("{} includes another plan, and a fleet sends one file", path.display())]
    FleetPlan { path: PathBuf },
    #[error("{} is a fleet of another plan, other nodes or other options", path.display())]
    OtherFleet { path: PathBuf },
    #[error("`{found}` is set by the fleet itself")]
    FleetOwnOption { found: String },
    #[error(transparent)]
    FleetOption(#[from] FleetOption),
    #[error("`howlate {command}` does not take `{found}`")]
    FleetArguments { command: &'static str, found: String },
    #[error(transparent)]
    NotRecorded(RecordError),
    #[error("{}", .path.as_ref().map_or("nothing is recorded in /var/lib/howlate".to_owned(), |path| format!("{} is not a folder of `howlate record`", path.display())))]
    NotRecordFolder { path: Option<PathBuf> },
    #[error("a folder of `howlate record` cannot be shown in that format")]
    RecordFolderFormat,
    #[error("{} has no timelines of all CPUs", path.display())]
    NoTimelines { path: PathBuf },
    #[error("this is made of what was recorded, not while it is measured")]
    NotWhileMeasuring,
    #[error("a trace has the times of one recording")]
    OneTraceAtATime,
    #[error("folders of `howlate record` of several machines cannot be shown in that format")]
    RecordFoldersFormat,
    #[error("a trace for Perfetto is not text: a terminal cannot show it")]
    TraceToTerminal,
    #[error("`howlate record` counts waits by process, not by thread")]
    NoThreadsInRecordFolder,
    #[error(transparent)]
    Moment(#[from] TimeRangeError),
    #[error(transparent)]
    NotSnapped(#[from] SnapError),
    #[error(transparent)]
    NotInstalled(#[from] InstallError),
    #[error("there is no command `{0}`")]
    NoCommand(String),
}

/// Errors that a session has too: they become `Error::Session`.
macro_rules! session_errors {
    ($($error:ty),*) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::Session(error.into())
            }
        })*
    };
}

session_errors!(StartError, CreateError, ReadError, TracerMissing);

impl Error {
    /// Whether the reader of standard output has closed it, which is no failure.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    pub(crate) fn message(&self) -> String {
        let mut text = format!("{} {}\n", paint(ERROR, "error:"), indent(&self.to_string()));
        if let Some(hint) = self.hint() {
            text.push_str(&self::hint(&hint));
        }
        text
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Plan(error) => error.hint(),
            Self::ChartIsPicture => Some("leave out `--format`, or `--chart` for everything on a page".into()),
            Self::ReportEnding { path, ending } => {
                let page = shell_path(&path.with_extension("html"));
                let pdf = if ending == "pdf" { ", which every browser prints as PDF" } else { "" };
                Some(format!(
                    "`-o {page}` writes a page{pdf}; `.md`, `.csv`, and with `--chart` `.svg` or `.png`; `--format html` writes one under any name"
                ))
            }
            Self::NotForTune(option) => Some(option.hint().into()),
            Self::Guest(error) => error.hint(),
            Self::NotForGuests(found) => Some(found.hint().into()),
            Self::OutputOfGuest(option) => Some(format!("write it before the `--`: `howlate guest {option} … -- …`")),
            Self::Session(error) => session_hint(error),
            Self::Gaps(error) => error.hint(),
            Self::Sources(error) => Some(error.hint().into()),
            Self::OpenError(OpenError::Program { path }) => Some(format!("to watch it: `{}`", watch_command(path))),
            Self::OpenError(error) => Some(error.hint()),
            Self::PlanUnreadable { path, command, .. } => Some(built_in_plans::hint(path, command)),
            Self::PlanIncludes { .. } => {
                Some("a file that is included twice counts twice: include each once, in the outermost plan".into())
            }
            Self::PlanFile { .. } => Some("`howlate run --help` shows a plan; `--dry-run` says what one would measure".into()),
            Self::NothingToCompare { differ } => Some(match differ.as_slice() {
                [] => "give a second recording".into(),
                [first, ..] => format!("give a second recording, or `--by {first}` to compare its conditions"),
            }),
            Self::ByNeedsOneRecording { .. } => Some("leave --by out, or give one recording".into()),
            Self::NothingMatches { refused: Some(refused) } => Some(format!(
                "{refused} in one of them, which is another condition; its `howlate show` says what was missing"
            )),
            Self::NothingMatches { refused: None } => {
                Some("`howlate show` lists the conditions of recordings; what differs must do so throughout".into())
            }
            Self::NoSuchValue { property, values, .. } => Some(format!("{property} is one of {}", values.join(", "))),
            Self::NothingDiffers { refused, differ, .. } => {
                let refused = refused.as_ref().map(|refused| format!("{refused}, so that there is nothing to compare it with"));
                let differ = match differ.as_slice() {
                    [] if refused.is_some() => None,
                    [] => Some("its conditions are all alike".to_owned()),
                    [first, ..] => Some(format!("they differ in {}; try `--by {first}`", differ.join(", "))),
                };
                Some([refused, differ].into_iter().flatten().collect::<Vec<_>>().join("; "))
            }
            Self::NoFolder(_) => {
                Some("trees are made with `cargo xtask capture-system FOLDER`; leave `--root` out for this machine".into())
            }
            Self::NoChart(_) => Some(format!("choose `--chart` from {}", Chart::ALL.map(Chart::name).join(", "))),
            Self::NoPicture(none) => Some(none.hint()),
            Self::NoPng(reason) => reason.hint(),
            Self::Prometheus { .. } => Some("name a file in a folder that exists and that you may write to, such as `/var/lib/prometheus/node-exporter/howlate.prom`".into()),
            Self::SameFile { .. } => Some("give each a file of its own".into()),
            Self::Export { .. } => Some("name a file in a folder that exists and that you may write to".into()),
            Self::NothingToOpen => Some("name a file with `--out`".into()),
            Self::CannotOpen { path, .. } => Some(format!("it has been written: open {} in a browser", shell_path(path))),
            Self::NoSavedRun => Some("measure first, such as with `howlate cyclic`, or give the path of a recording".into()),
            Self::NothingTraced { .. } => Some("record again, such as with `howlate cyclic --why --out result.jsonl`".into()),
            Self::NothingPeriodic => Some("measure with `howlate cyclic`, or choose another `--format`: `howlate show --help` lists them".into()),
            Self::NoSingleSamples => Some("measure with `howlate sleep`, or save every wake-up of another command as Parquet: `--samples-out FILE`".into()),
            Self::NothingToTrace(_) => Some("leave --why out, or choose another --call or --mechanism".into()),
            Self::Watch(error) => error.hint(&typed_arguments()),
            Self::TracerCannotWatch(_) => Some("leave `--tracer` out, or mark the loops of the program: see `howlate watch --help`".into()),
            Self::NoRequests(_) => Some("without `--requests`, `howlate watch` measures what it can here".into()),
            Self::TracerWithoutRequests(_) => Some("leave `--tracer` out: `--requests` takes bpf".into()),
            Self::Waits(TracerRefusal::NoProc) => None,
            Self::Waits(_) => Some("`howlate watch PID` sees one process where that is allowed".into()),
            Self::Tune(TuneError::Session(error)) => session_hint(error),
            Self::Tune(error) => error.hint(),
            Self::ProgramFailed(failed) => {
                Some(failed.hint.clone().unwrap_or_else(|| "results up to that point are shown above".into()))
            }
            Self::Fleet(error) => error.hint(),
            Self::Host(_) => None,
            Self::Serve(error) => error.hint(),
            Self::FleetPlan { .. } => Some("copy the other plan's tables into it".into()),
            Self::OtherFleet { .. } => Some("resume it with the same plan, nodes and options; `--folder` names another folder".into()),
            Self::FleetOwnOption { .. } => {
                Some("each node is called as its host, and its recording is put into the fleet's folder: see --folder".into())
            }
            Self::FleetOption(option) => Some(option.hint().into()),
            Self::FleetArguments { command, .. } => Some(format!("`howlate {command} --help` lists what it takes")),
            Self::NotRecorded(RecordError::NotSeen(TracerRefusal::NotPermitted)) => Some(if geteuid().is_root() {
                "this root lacks CAP_BPF or CAP_PERFMON, or a filter of system calls forbids bpf(2)".into()
            } else {
                format!("type `sudo {}`", own_command_line())
            }),
            Self::NotRecorded(RecordError::NotSeen(_) | RecordError::NotServed(_)) => None,
            Self::NotRecorded(RecordError::NotKept(reason)) => Some(reason.hint().into()),
            Self::NotRecordFolder { path: None } => Some(format!("name the folder: `{} DIR`", own_command_line())),
            Self::NotRecordFolder { .. } => Some(RECORD_FOLDER_HINT.into()),
            Self::RecordFolderFormat => Some("`show` has text, json, folded and perfetto of it, `report` the page (html)".into()),
            Self::RecordFoldersFormat => Some("`show` has text and json of several; name one folder for more".into()),
            Self::NoTimelines { .. } => Some("record again with `--keep`, such as `howlate cyclic --why --keep 2s`; the files must be beside the recording".into()),
            Self::NotWhileMeasuring => Some("measure with `--why --keep 2s --out FILE`, then `howlate show FILE --format perfetto`; `folded` is of `howlate record`".into()),
            Self::OneTraceAtATime => Some("name one recording that is not merged".into()),
            Self::TraceToTerminal => Some("write it to a file: `howlate show … --format perfetto > late.pftrace`".into()),
            Self::NoThreadsInRecordFolder => Some("write `--by process`, group or culprit; `howlate why FOLDER` has each thread that was late".into()),
            Self::Moment(_) => None,
            Self::NotSnapped(SnapError::NoRecorder { path }) => Some(format!("begin with `howlate record --out {}`", shell_path(path))),
            Self::NotInstalled(reason) => Some(reason.hint().into()),
            Self::NotSnapped(SnapError::SignalFailed { .. }) => Some("run it as the user who records, or as root".into()),
            Self::NoCommand(_) => Some("`howlate --help` lists the commands".into()),
            Self::Output(_) | Self::Json(_) => None,
        }
    }
}

impl From<NothingToTrace> for Error {
    fn from(nothing: NothingToTrace) -> Self {
        Self::NothingToTrace(nothing)
    }
}

impl From<GuestsError> for Error {
    fn from(error: GuestsError) -> Self {
        match error {
            GuestsError::Guest(error) => Self::Guest(error),
            GuestsError::Session(error) => Self::Session(error),
        }
    }
}

impl From<RecordError> for Error {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::NotServed(reason) => reason.into(),
            error => Self::NotRecorded(error),
        }
    }
}

impl From<AttachError> for Error {
    fn from(reason: AttachError) -> Self {
        match reason {
            AttachError::Program(error) => Self::Watch(error),
            AttachError::Tracer(missing) => Self::from(missing),
            AttachError::NothingVisible(choice) => Self::TracerCannotWatch(choice),
            AttachError::NoRequests(missing) => Self::NoRequests(missing.refusal),
        }
    }
}

/// Reasons why nothing of a plan can be traced.
fn not_traced(left_out: &[Caveat]) -> String {
    let reason = |caveat: &Caveat| match caveat {
        Caveat::NotTraced { mechanism, reason } => Some(format!("{mechanism}: {reason}")),
        _ => None,
    };
    left_out.iter().filter_map(reason).collect::<Vec<_>>().join("; ")
}

/// The command line of this program, for the shell.
fn own_command_line() -> String {
    let arguments = std::env::args_os().skip(1).map(shell_word);
    std::iter::once("howlate".to_owned()).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// Its arguments, as text.
fn typed_arguments() -> Vec<String> {
    let arguments = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    std::iter::once("howlate".to_owned()).chain(arguments).collect()
}

/// The `howlate watch` command for a program and the arguments after it.
fn watch_command(program: &Path) -> String {
    let own_command_line: Vec<OsString> = std::env::args_os().skip(1).collect();
    let position = own_command_line.iter().position(|argument| Path::new(argument) == program);
    let arguments = position.map_or(&[][..], |position| &own_command_line[position + 1..]);
    let program_name = howlate_watched_program::start_command(program);
    let program_line: Vec<String> =
        std::iter::once(program_name).chain(arguments.iter().map(shell_word)).collect();
    let separator = if arguments.iter().any(|argument| argument.as_encoded_bytes().starts_with(b"-")) {
        "-- "
    } else {
        ""
    };
    format!("howlate watch {separator}{}", program_line.join(" "))
}

/// Hint for a folder that is not one of `howlate record`.
const RECORD_FOLDER_HINT: &str =
    "name a folder that `howlate record` has written, as in `howlate show FOLDER --at 03:12`";

/// Makes text from outside legible, and indents its further lines, so that they cannot imitate lines of howlate.
fn indent(text: &str) -> String {
    legible_lines(text.trim_end()).replace('\n', "\n  ")
}

fn session_hint(error: &SessionError) -> Option<String> {
    match error {
        SessionError::Read(error) => Some(howlate_open_results::hint(error)),
        error => error.hint(),
    }
}

/// A hint as printed below an error.
pub(crate) fn hint(text: &str) -> String {
    format!("{} {}\n", paint(HINT, "hint:"), indent(text))
}
