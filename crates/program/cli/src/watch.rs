//! `howlate watch`

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use howlate_model::{Limit, Span};
use howlate_session::{Keep, LateAction};
use howlate_trace::Choice;

use super::recording_name::recording_name;
use super::{DetailedPrintArgs, IdentityArgs, PrintArgs, WatchUntilArgs, completion_values};

/// Default threshold: roughly where people notice an event loop's delay.
const LOOP_ABOVE: Span = Span::from_millis(10);

/// Measure how late your program's threads run, and why
///
/// The program needs no changes.
///
/// Programs of your own can mark their loops, which needs no root: three lines of howlate.h, of the crate howlate-loop, or of the
/// Python class in howlate_loop.py, say when an iteration starts and ends, and its period. Packages bring `include/howlate.h` and
/// `share/howlate/python`; all are in the folder `loop` of howlate's source.
#[derive(Args, Default)]
#[command(after_help = "Examples:\n  \
howlate watch 4711 --duration 30s\n  \
howlate watch python3 loop.py\n  \
howlate watch redis-server --requests --duration 30s\n  \
howlate watch ros2_control_no --late-above 500us --out robot.jsonl\n  \
howlate watch --fail-above 'p99.9>200us' -- ./my-program --its-option\n  \
howlate watch --until 'max<1ms: 1 per hour' --thread control_loop 4711")]
#[command(
    override_usage = "howlate watch [OPTIONS] <PID|NAME|CMD>...\n       howlate watch [OPTIONS] -- <CMD> [ARGUMENTS]..."
)]
#[command(group = clap::ArgGroup::new("whom").args(["targets", "program"]).required(true))]
pub struct WatchArgs {
    /// A running process, by id or name; or a program to start, by its path or with arguments
    #[arg(value_name = "PID|NAME|CMD")]
    targets: Vec<OsString>,
    /// A program to start and to watch, with its arguments and options
    #[arg(last = true, value_name = "CMD")]
    pub program: Vec<OsString>,
    /// End after this time [default: with the program or Ctrl-C]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub duration: Option<Span>,
    /// When it is known well enough.
    #[command(flatten)]
    pub until: WatchUntilArgs,
    /// Only threads with this name [default: all]
    #[arg(long, value_name = "NAME")]
    pub thread: Vec<String>,
    /// Also watch the processes that it starts, and theirs
    #[arg(long)]
    pub follow: bool,
    /// Also measure the requests to its servers, from the arrival of their data to the answer; with the processes that it starts
    ///
    /// At stream sockets, TCP and Unix: data arrives, a thread takes it up, and a thread begins to send. What the time in between went
    /// to is followed across threads. HTTP/2 answers and answers to pipelined requests are counted, but not measured.
    #[arg(long)]
    pub requests: bool,
    /// Which wake-ups count as late [default: those above the 99th percentile]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub late_above: Option<Span>,
    /// About each wake-up above --late-above: a command, which gets its JSON; signal:PID:USR1; or stop, which ends watching
    #[arg(long, value_name = "COMMAND", requires = "late_above", hide_short_help = true)]
    pub on_late: Vec<LateAction>,
    /// Keep what all CPUs did around the worst wake-ups, beside the recording: how much is remembered, and how many at most
    ///
    /// A timeline for ui.perfetto.dev, from 100 ms before the wake-up was due to 100 ms after it; `2s,20` keeps 20 of a run, `2s` 10.
    /// SIGUSR2, or the key `w`, keeps the last of it at once.
    #[arg(long, value_name = "LENGTH[,N]", hide_short_help = true)]
    pub keep: Option<Keep>,
    /// An event loop that stays away from its poll for longer than this counts as late
    #[arg(long, value_name = "LENGTH", default_value_t = LOOP_ABOVE, hide_short_help = true, allow_hyphen_values = true)]
    pub loop_above: Span,
    /// End with status 1 when a thread exceeds this, such as 'max>1ms' or 'p99.9>200us', an event loop this: 'loop>20ms', or a request this: 'request.p99>5ms'
    #[arg(long, value_name = "LIMIT")]
    pub fail_above: Vec<Limit>,
    /// How to trace: auto takes the best available; or bpf, tracefs, switches
    #[arg(long, value_name = "TRACER", default_value = "auto", hide_short_help = true, value_parser = completion_values::completable::<Choice>(completion_values::tracers), hide_possible_values = true)]
    pub tracer: Choice,
    /// Save the recording
    #[arg(long, short, value_name = "FILE", value_parser = recording_name(), value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
    /// Show it on the whole screen, which is usual for a process that runs already; what a started program writes is shown after it
    #[arg(long)]
    pub live: bool,
    /// Do not keep the run for `howlate show`
    #[arg(long, hide_short_help = true)]
    pub no_save: bool,
    /// What the recording says of where it was made.
    #[command(flatten)]
    pub identity: IdentityArgs,
    /// How it is printed.
    #[command(flatten)]
    pub printing: DetailedPrintArgs,
}

impl WatchArgs {
    /// Options for watching a running process quietly, without saving.
    pub fn parse(process: &str) -> Self {
        let common = PrintArgs { quiet: true, ..PrintArgs::default() };
        let printing = DetailedPrintArgs { common, details: false };
        let (targets, loop_above) = (vec![process.into()], LOOP_ABOVE);
        Self { targets, loop_above, no_save: true, printing, ..Self::default() }
    }

    /// Whether child processes are watched as well.
    pub const fn follows(&self) -> bool {
        self.follow || self.requests
    }

    /// Maximum duration.
    pub fn max_duration(&self) -> Option<Span> {
        self.duration.or_else(|| self.until.goal().map(|goal| goal.at_most))
    }

    /// A running process; `None` if a program is to be started. A single argument is a process, unless it is a path.
    pub fn process(&self) -> Option<Cow<'_, str>> {
        let [word] = self.targets.as_slice() else { return None };
        let is_path = word.as_encoded_bytes().contains(&b'/');
        (!is_path).then(|| word.to_string_lossy())
    }

    /// A program to start, with its arguments.
    pub fn program(&self) -> &[OsString] {
        if self.program.is_empty() { &self.targets } else { &self.program }
    }
}
