//! What goes wrong before anything is measured, and what to do about it.

use std::io;
use std::path::PathBuf;

use howlate_blackbox::NotRecorded;
use howlate_fleet::{FleetError, HostError};
use howlate_guest::GuestError;
use howlate_import::ImportError;
use howlate_load::StartError;
use howlate_model::{Caveat, CpuSet, EngineError, TracerRefusal, shell_path};
use howlate_plan::PlanError;
use howlate_record::{CreateError, NoSource, NotRotated, ReadError};
use howlate_render::legible_lines;
use howlate_report::{Chart, NoPicture, NoPng};
use howlate_serve::ServeError;
use howlate_session::SessionError;
use howlate_trace::{Choice, TracerMissing};
use howlate_tune::TuneError;
use howlate_watch::{ProgramFailed, WatchError};
use howlate_watching::NotWatched;

use crate::plans;
use crate::refused_option::{FleetOption, NotForGuests, NotForTune, OutputOfGuest};
use crate::terminal::{ERROR, HINT, paint};

/// Why a command could not be carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Sources(#[from] NoSource),
    #[error("there is no recording in {}", path.display())]
    NoRecordings { path: PathBuf },
    #[error("cannot read {}: {source}", path.display())]
    Import { path: PathBuf, source: ImportError },
    #[error("cannot read the plan {}: {source}", path.display())]
    PlanUnreadable { path: PathBuf, command: &'static str, source: io::Error },
    #[error("{}{}: {reason}", path.display(), line.map_or(String::new(), |line| format!(" line {line}")))]
    PlanFile { path: PathBuf, line: Option<usize>, reason: String },
    #[error("{} would be file {} of this plan; at most {most} may be included", path.display(), most + 1)]
    PlanIncludes { path: PathBuf, most: usize },
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error("cannot write the result: {0}")]
    Output(#[from] io::Error),
    #[error("cannot write the result: {0}")]
    Json(#[from] serde_json::Error),
    #[error("there is one recording, and nothing to compare it with")]
    NothingToCompare { differ: Vec<&'static str> },
    #[error("--by compares conditions of one recording; found {found}")]
    ByTakesOne { found: usize },
    #[error("no condition of the base is in any other recording")]
    NothingMatches { refused: Option<String> },
    #[error("no condition has {property} `{found}`")]
    NoSuchValue { property: &'static str, found: String, values: Vec<String> },
    #[error("no two conditions differ in {property} and nothing else")]
    NothingDiffers { property: &'static str, differ: Vec<&'static str> },
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
    #[error("{0}")]
    NoPng(NoPng),
    #[error("--chart writes one picture, as svg or png")]
    ChartIsPicture,
    #[error("{0} is one picture, and none is named")]
    NoChart(&'static str),
    #[error("what goes to standard output cannot be opened")]
    NothingToOpen,
    #[error("cannot open {}: xdg-open {reason}", path.display())]
    CannotOpen { path: PathBuf, reason: String },
    #[error("no run has been saved here")]
    NothingKept,
    #[error("{} was made without --why", path.display())]
    NothingTraced { path: PathBuf },
    #[error("no periodic thread was measured; an RT Dataset needs one")]
    NothingPeriodic,
    #[error("no sleep or message was measured, and only these are kept one by one, in order")]
    NoSingleOnes,
    #[error("none of this can be traced: {}", not_traced(.0))]
    NothingToTrace(Vec<Caveat>),
    #[error(transparent)]
    Watch(#[from] WatchError),
    #[error("`--tracer {0}` does not see when the threads of a program should have run")]
    NothingWatches(Choice),
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
    FleetOther { path: PathBuf },
    #[error("`{found}` is set by the fleet itself")]
    FleetWord { found: String },
    #[error(transparent)]
    FleetOption(#[from] FleetOption),
    #[error("`howlate run` does not take `{found}`")]
    FleetWords { found: String },
    #[error(transparent)]
    NotRecorded(#[from] NotRecorded),
    #[error("{}", .path.as_ref().map_or("no folder of `howlate record` is named".to_owned(), |path| format!("{} is not a folder of `howlate record`", path.display())))]
    NotOfRecord { path: Option<PathBuf> },
    #[error("{0}")]
    Moment(String),
    #[error("nobody records to {}", path.display())]
    NobodyRecords { path: PathBuf },
    #[error("process {pid}, which records, cannot be asked: {source}")]
    NotAsked { pid: i32, source: io::Error },
    #[error("there is no command `{0}`")]
    NoCommand(String),
}

/// What can go wrong in a session goes wrong in the same words outside of one.
macro_rules! as_in_a_session {
    ($($error:ty),*) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::Session(error.into())
            }
        })*
    };
}

as_in_a_session!(StartError, CreateError, ReadError, TracerMissing);

impl Error {
    /// Whether nobody reads standard output any more, which is no failure of ours.
    pub(crate) fn is_a_reader_that_left(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The message with its hint, styled.
    pub(crate) fn message(&self) -> String {
        let mut text = format!("{} {}\n", paint(ERROR, "error:"), indented(&self.to_string()));
        if let Some(hint) = self.hint() {
            text.push_str(&self::hint(&hint));
        }
        text
    }

    /// What to do.
    fn hint(&self) -> Option<String> {
        match self {
            Self::Plan(PlanError::NoSuchCpu { bindable, isolated, .. }) => Some(cpu_hint(bindable, isolated)),
            Self::Plan(PlanError::TooMany { .. }) => {
                Some("give fewer values to --for, --period, --call, --by, --after, --pair, --policy, --slack, --load or --cpus".into())
            }
            Self::Plan(PlanError::TooManyTurns { .. }) => {
                Some("give fewer `--rounds`, fewer `--samples`, or fewer conditions".into())
            }
            Self::Plan(_) => None,
            Self::ChartIsPicture => Some("leave out `--format`, or `--chart` for everything on a page".into()),
            Self::NotForTune(option) => Some(option.hint().into()),
            Self::Guest(error) => error.hint(),
            Self::NotForGuests(found) => Some(found.hint().into()),
            Self::OutputOfGuest(option) => Some(format!("write it before the `--`: `howlate guest {option} … -- …`")),
            Self::Session(error) => session_hint(error),
            Self::Sources(NoSource::Unreadable { .. }) => {
                Some("give recordings that were made with `--out`; `howlate show FILE` says what is wrong with one".into())
            }
            Self::Sources(NoSource::TooManyConditions { .. }) => {
                Some("merge fewer at a time: some of the machines, or some of the conditions".into())
            }
            Self::NoRecordings { .. } => Some("recordings in a folder end in `.jsonl`; name other files one by one".into()),
            Self::Import { source, .. } => {
                let remedy = source.remedy().unwrap_or(READ_OF_OTHERS);
                Some(remedy.into())
            }
            Self::PlanUnreadable { path, command, .. } => Some(plans::hint(path, command)),
            Self::PlanIncludes { .. } => {
                Some("a file that is included twice counts twice: include each once, in the outermost plan".into())
            }
            Self::PlanFile { .. } => Some("`howlate run --help` shows a plan; `--dry-run` says what one would measure".into()),
            Self::NothingToCompare { differ } => Some(match differ.as_slice() {
                [] => "give a second recording".into(),
                [first, ..] => format!("give a second recording, or `--by {first}` to compare its conditions"),
            }),
            Self::ByTakesOne { .. } => Some("leave --by out, or give one recording".into()),
            Self::NothingMatches { refused: Some(refused) } => Some(format!(
                "{refused} in one of them, which is another condition; its `howlate show` says what was missing"
            )),
            Self::NothingMatches { refused: None } => {
                Some("`howlate show` lists the conditions of recordings; what differs must do so throughout".into())
            }
            Self::NoSuchValue { property, values, .. } => Some(format!("{property} is one of {}", values.join(", "))),
            Self::NothingDiffers { differ, .. } => Some(match differ.as_slice() {
                [] => "its conditions are all alike".into(),
                differ => format!("they differ in {}", differ.join(", ")),
            }),
            Self::NoFolder(_) => {
                Some("trees are made with `cargo xtask capture-system FOLDER`; leave `--root` out for this machine".into())
            }
            Self::NoChart(_) => Some(format!("choose `--chart` from {}", Chart::ALL.map(Chart::name).join(", "))),
            Self::NoPicture(none) => Some(picture_hint(none)),
            Self::NoPng(reason) => png_hint(reason),
            Self::Prometheus { .. } => Some("name a file in a folder that exists and that you may write to, such as `/var/lib/prometheus/node-exporter/howlate.prom`".into()),
            Self::Export { .. } => Some("name a file in a folder that exists and that you may write to".into()),
            Self::NothingToOpen => Some("name a file with `--out`".into()),
            Self::CannotOpen { path, .. } => Some(format!("it has been written: open {} in a browser", shell_path(path))),
            Self::NothingKept => Some("measure first, such as with `howlate cyclic`, or give the path of a recording".into()),
            Self::NothingTraced { .. } => Some("record again, such as with `howlate cyclic --why --out result.jsonl`".into()),
            Self::NothingPeriodic => Some("measure with `howlate cyclic`, or choose another `--format`: `howlate show --help` lists them".into()),
            Self::NoSingleOnes => Some("measure with `howlate sleep`, or save every wake-up of another command as Parquet: `--samples-out FILE`".into()),
            Self::NothingToTrace(_) => Some("leave --why out, or choose another --call or --by".into()),
            Self::Watch(error) => error.hint(),
            Self::NothingWatches(_) => Some("leave `--tracer` out, or mark the loops of the program: see `howlate watch --help`".into()),
            Self::Waits(TracerRefusal::NoProc) => None,
            Self::Waits(_) => Some("`howlate watch PID` sees one process where that is allowed".into()),
            Self::Tune(TuneError::Session(error)) => session_hint(error),
            Self::Tune(error) => error.hint(),
            Self::ProgramFailed(_) => Some("results up to that point are shown above".into()),
            Self::Fleet(error) => error.hint(),
            Self::Host(_) => None,
            Self::Serve(error) => error.hint(),
            Self::FleetPlan { .. } => Some("copy the other plan's tables into it".into()),
            Self::FleetOther { .. } => Some("resume it with the same plan, nodes and options; `--folder` names another folder".into()),
            Self::FleetWord { .. } => {
                Some("each node is called as its host, and its recording is put into the fleet's folder: see --folder".into())
            }
            Self::FleetOption(option) => Some(option.hint().into()),
            Self::FleetWords { .. } => Some("`howlate run --help` lists what it takes".into()),
            Self::NotRecorded(NotRecorded::NotSeen(_)) => None,
            Self::NotRecorded(NotRecorded::NotKept(reason)) => Some(record_hint(reason)),
            Self::NotOfRecord { path } => Some(not_of_record_hint(path.as_ref())),
            Self::Moment(_) => None,
            Self::NobodyRecords { path } => Some(format!("begin with `howlate record --out {}`", shell_path(path))),
            Self::NotAsked { .. } => Some("run it as the user who records, or as root".into()),
            Self::NoCommand(_) => Some("`howlate --help` lists the commands".into()),
            Self::Output(_) | Self::Json(_) => None,
        }
    }
}

impl From<NotWatched> for Error {
    fn from(reason: NotWatched) -> Self {
        match reason {
            NotWatched::Program(error) => Self::Watch(error),
            NotWatched::Tracer(missing) => Self::from(missing),
            NotWatched::SeesNothing(choice) => Self::NothingWatches(choice),
        }
    }
}

/// Why nothing of a plan can be traced.
fn not_traced(left_out: &[Caveat]) -> String {
    let reason = |caveat: &Caveat| match caveat {
        Caveat::NotTraced { mechanism, reason } => Some(format!("{mechanism}: {reason}")),
        _ => None,
    };
    left_out.iter().filter_map(reason).collect::<Vec<_>>().join("; ")
}

fn session_hint(error: &SessionError) -> Option<String> {
    match error {
        SessionError::Load(error) => load_hint(error),
        SessionError::Create(error) => Some(create_hint(error)),
        SessionError::Read(error) => Some(read_hint(error)),
        SessionError::Tracer(_) => Some("`--tracer auto` takes the best available".into()),
        SessionError::Engine(EngineError::Thread { .. }) => {
            Some("the limit on threads may be reached: see `ulimit -u` and the cgroup's pids.max".into())
        }
        SessionError::Engine(EngineError::ReadBack { .. }) => {
            Some("a seccomp filter may forbid sched_getattr(2); in a container, try `--security-opt seccomp=unconfined`".into())
        }
        SessionError::Engine(EngineError::NotTaken { .. }) => None,
        SessionError::RunRecorded { .. } => Some("`--resume` continues it; `--out` names another file".into()),
        SessionError::OtherConditions { .. } => Some(
            "the plan, an option, a setting, the kernel, the CPUs or howlate have changed since; choose another name with `--out` and start afresh".into(),
        ),
    }
}

/// What to type about a folder that is none of `howlate record`'s.
fn not_of_record_hint(path: Option<&PathBuf>) -> String {
    let path = path.map_or_else(|| "/var/lib/howlate".to_owned(), |path| shell_path(path));
    format!("times are asked of a folder that `howlate record` writes: `howlate record --out {path}`")
}

fn record_hint(reason: &NotRotated) -> String {
    match reason {
        NotRotated::Held { .. } => "end it first, or choose another folder with `--out`".into(),
        NotRotated::Link { .. } => "name the folder itself with `--out`".into(),
        NotRotated::TooSmall { .. } => "give at least `--max-size 1M`".into(),
        NotRotated::NotPrivate(_) | NotRotated::Io { .. } => {
            "choose a folder with `--out` that is yours alone to write, and those above it root's".into()
        }
    }
}

fn create_hint(error: &CreateError) -> String {
    match error {
        CreateError::Exists { path } => {
            let file = path.is_file().then(|| format!(", or remove it first: `rm {}`", shell_path(path)));
            format!("choose another name{}", file.unwrap_or_default())
        }
        CreateError::Busy { .. } => "wait until it ends, or choose another name with `--out`".into(),
        CreateError::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
            "make room there, or choose a path on another disk".into()
        }
        CreateError::Io { source, .. } if source.kind() == io::ErrorKind::FileTooLarge => {
            "files may not be longer here: raise the limit (`ulimit -f unlimited`), or leave `--out` away"
                .into()
        }
        CreateError::Io { source, .. } if source.kind() == io::ErrorKind::QuotaExceeded => {
            "your quota is used up: remove files, or choose a path on another disk".into()
        }
        CreateError::Io { .. } => {
            "choose a path in a folder that exists and that you may write to, such as `result.jsonl`".into()
        }
    }
}

/// What can be asked for; isolated CPUs are what people look for.
fn cpu_hint(bindable: &CpuSet, isolated: &CpuSet) -> String {
    let isolated = match isolated.len() {
        0 => String::new(),
        1 => format!("; CPU {isolated} is isolated: `--cpus {isolated}`"),
        _ => format!("; CPUs {isolated} are isolated: `--cpus {isolated}`"),
    };
    format!("choose from these, with `--cpus {bindable}` or `--pair`{isolated}")
}

fn picture_hint(none: &NoPicture) -> String {
    let there_are: Vec<&str> = none.there_are().map(Chart::name).collect();
    match there_are.as_slice() {
        [] => "nothing was measured".into(),
        some => format!("choose `--chart` from {}", some.join(", ")),
    }
}

fn png_hint(reason: &NoPng) -> Option<String> {
    match reason {
        NoPng::NoPicture(none) => Some(picture_hint(none)),
        NoPng::NotBuiltIn => Some(
            "write `--format svg`, and make pixels of it: `rsvg-convert -z 2 picture.svg -o picture.png` (`sudo apt-get install \
             librsvg2-bin`); `cargo install howlate` builds a program that writes PNG itself"
                .into(),
        ),
        NoPng::NoFont => Some("install one: `sudo apt-get install fonts-dejavu-core`; `--format svg` needs none".into()),
        NoPng::NotDrawn(_) => Some("`--format svg` is the same picture".into()),
    }
}

/// What others wrote may be in it: legible, and further lines cannot be taken for ours.
fn indented(text: &str) -> String {
    legible_lines(text.trim_end()).replace('\n', "\n  ")
}

fn load_hint(error: &StartError) -> Option<String> {
    Some(match error {
        StartError::Missing { package, .. } => format!("install it: `sudo apt-get install {package}`"),
        StartError::NoStressor { classes, .. } => {
            format!(
                "choose a class ({}), or a stressor that `stress-ng --stressors` lists",
                classes.join(", ")
            )
        }
        StartError::Folder { .. } => {
            "name a folder that exists and that you may use, as in `disk:/var/tmp`".to_owned()
        }
        StartError::NoSpace { .. } => {
            "name a folder on another disk, as in `disk:/mnt`, or free space".to_owned()
        }
        StartError::Cpus { bindable, .. } => format!("choose from these, with `--load-cpus {bindable}`"),
        StartError::Helper { .. } => {
            "the limit on processes may be reached: see `ulimit -u` and the cgroup's pids.max".to_owned()
        }
        StartError::Ended { .. } => return None,
    })
}

/// What other programs write that is read.
const READ_OF_OTHERS: &str = "of other programs, files of cyclictest, jitterdebugger, rtla, oslat, stress-ng, OSADL and HdrHistogram are read";

fn read_hint(error: &ReadError) -> String {
    match error {
        ReadError::Io { .. } => "give the path of a recording made with `--out`".into(),
        ReadError::Empty { .. } | ReadError::NotARecording { .. } => {
            format!(
                "recordings are made with `--out`, such as `howlate cyclic --out result.jsonl`; {READ_OF_OTHERS}"
            )
        }
        ReadError::Newer { .. } => "install a newer howlate to read it".into(),
        ReadError::LineTooLong { line: 1, .. } => {
            "recordings are made with `--out`, such as `howlate cyclic --out result.jsonl`".into()
        }
        ReadError::SecondHeader { path, line } => {
            format!("split them: `tail -n +{line} {} > second.jsonl`", shell_path(path))
        }
        ReadError::Damaged { path, line, .. } | ReadError::LineTooLong { path, line } => {
            format!(
                "the lines before it can be kept: `head -n {} {} > mended.jsonl`",
                line - 1,
                shell_path(path)
            )
        }
    }
}
/// What to do, as it stands below a complaint.
pub(crate) fn hint(text: &str) -> String {
    format!("{} {}\n", paint(HINT, "hint:"), indented(text))
}
