//! Options of `howlate tune`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, Args, Subcommand, ValueEnum, ValueHint};
use howlate_analyse::compare::Statistic;
use howlate_model::Span;
use howlate_trace::Choice;
use howlate_tune::{ProgramOptions, SettingSelection, TuneOptions};

use super::recording_name::recording_name;
use super::{CyclicArgs, DisplayArgs, MeasureArgs, NotifyArgs, PrintArgs, SleepArgs, completion_values};

/// Find which settings help on this machine, proved in interleaved turns
#[derive(Args)]
#[command(
    after_help = "Without a command: `cyclic`; `program` before `-- CMD`, or the id or name of a process. After each of them: --knobs NAME,…, --goal p50|p99|max, --budget LENGTH, --dry-run, \
--restore and --beside-tuners, which `howlate tune cyclic --help` explains.\n\nExamples:\n  \
howlate tune --knobs all --dry-run\n  \
howlate tune sleep --for 1ms --policy other --budget 1m\n  \
howlate tune cyclic --load cpu --knobs slice,nice,fifo --goal p99\n  \
howlate tune --budget 3m -- ./my-program --its-option"
)]
pub struct TuneArgs {
    /// What it is tried on.
    #[command(subcommand)]
    pub subject: TuneSubject,
}

/// What settings are tried on, howlate's own threads or somebody's program.
#[derive(Subcommand)]
pub enum TuneSubject {
    /// On threads of its own.
    #[command(flatten)]
    Work(TuneWork),
    /// Settings tried on a program of yours
    Program(Box<TuneProgram>),
}

/// Settings tried from outside, on the threads of a program
///
/// The program need not know anything of howlate: it is started once, or runs already, and every turn is a window of time in which
/// its threads have one setting changed.
#[derive(Args)]
#[command(group = clap::ArgGroup::new("whom").args(["process", "program"]).required(true))]
pub struct TuneProgram {
    /// A running process: its id, or its name
    #[arg(value_name = "PID|NAME")]
    pub process: Option<String>,
    /// A program to start, with its arguments; it is ended afterwards
    #[arg(last = true, value_name = "CMD")]
    pub program: Vec<OsString>,
    /// Measure only threads of this name or id, and change only their settings [default: all]
    #[arg(long, value_name = "NAME")]
    pub thread: Vec<String>,
    /// Also threads of its child processes
    #[arg(long)]
    pub follow: bool,
    /// How long each turn lasts [default: as long as the goal takes]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub turn: Option<Span>,
    /// What traces: auto takes the best that can be had here; or bpf, tracefs
    #[arg(long, value_name = "TRACER", default_value = "auto", hide_short_help = true, value_parser = completion_values::completable::<Choice>(completion_values::tracers), hide_possible_values = true)]
    pub tracer: Choice,
    /// How it is tried.
    #[command(flatten)]
    pub how: SearchArgs,
    /// Seed of the random order of turns
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub seed: Option<u64>,
    /// Save the recording
    #[arg(long, short, value_name = "FILE", value_parser = recording_name(), value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Do not keep the run for `howlate show`
    #[arg(long, hide_short_help = true, help_heading = "Output")]
    pub no_save: bool,
    /// Print everything: every interval, and every way to make a setting permanent
    #[arg(long, hide_short_help = true, help_heading = "Output")]
    pub details: bool,
    /// How it is printed.
    #[command(flatten)]
    pub printing: PrintArgs,
    /// What is shown meanwhile.
    #[command(flatten)]
    pub display: DisplayArgs,
}

/// What settings are tried on.
#[derive(Subcommand)]
pub enum TuneWork {
    /// Settings tried on periodic threads
    #[command(
        after_help = "Examples:\n  \
howlate tune cyclic --load cpu --knobs slice,nice,fifo --goal p99\n  \
howlate tune cyclic --knobs all --dry-run",
        mut_args(hide_refused)
    )]
    Cyclic(Box<TuneRunArgs<CyclicArgs>>),
    /// Settings tried on sleeps
    #[command(
        after_help = "Examples:\n  \
howlate tune sleep --for 1ms --policy other --budget 1m",
        mut_args(hide_refused)
    )]
    Sleep(Box<TuneRunArgs<SleepArgs>>),
    /// Settings tried on notification
    #[command(
        after_help = "Examples:\n  \
howlate tune notify --mechanism pipe --after 1ms --pair 0,1",
        mut_args(hide_refused)
    )]
    Notify(Box<TuneRunArgs<NotifyArgs>>),
}

/// Hides options of measuring commands that `tune` refuses.
fn hide_refused(argument: Arg) -> Arg {
    const REFUSED: [&str; 8] =
        ["rounds", "until", "at_most", "why", "fail_above", "samples_out", "export_json", "export_markdown"];
    let is_refused = REFUSED.contains(&argument.get_id().as_str());
    if is_refused { argument.hide(true) } else { argument }
}

/// What is measured, and how settings are tried on it.
#[derive(Args)]
pub struct TuneRunArgs<T: Args> {
    #[command(flatten)]
    pub work: T,
    #[command(flatten)]
    pub how: SearchArgs,
    /// Continue an interrupted run, in the recording that --out names
    #[arg(long, requires = "out", hide_short_help = true, help_heading = "Settings")]
    pub resume: bool,
}

/// How settings are tried.
#[derive(Args, Clone)]
#[command(next_help_heading = "Settings")]
pub struct SearchArgs {
    /// Settings to try: names, `thread` for those of a thread, `machine`, or `all`; `--dry-run` lists them
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', default_value = "thread", value_parser = completion_values::completable::<SettingSelection>(completion_values::knobs), hide_possible_values = true)]
    pub knobs: Vec<SettingSelection>,
    /// What to make smaller: p50, p99 or max
    #[arg(long, value_enum, default_value_t = TuneGoal::P99, hide_possible_values = true)]
    pub goal: TuneGoal,
    /// How long all turns together may take
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, default_value = "10m")]
    pub budget: Span,
    /// Only list each setting and what it would write
    #[arg(long)]
    pub dry_run: bool,
    /// Try settings of the machine although another program that tunes it is at work
    #[arg(long, hide_short_help = true)]
    pub beside_tuners: bool,
    /// Only put back what a killed howlate has left changed
    #[arg(long, hide_short_help = true, conflicts_with = "dry_run")]
    pub restore: bool,
}

impl TuneProgram {
    /// The options for the search.
    pub fn options(&self) -> ProgramOptions {
        ProgramOptions {
            threads: self.thread.clone(),
            follow: self.follow,
            turn: self.turn,
            options: self.how.options(),
        }
    }
}

impl SearchArgs {
    /// The options for the search.
    pub fn options(&self) -> TuneOptions {
        TuneOptions {
            knobs: self.knobs.clone(),
            goal: self.goal.statistic(),
            budget: self.budget,
            beside_tuners: self.beside_tuners,
        }
    }
}

/// A number of a turn.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TuneGoal {
    /// The median
    P50,
    /// 99 % are at most this
    P99,
    /// The largest of a turn
    Max,
}

impl TuneGoal {
    pub const fn statistic(self) -> Statistic {
        match self {
            Self::P50 => Statistic::P50,
            Self::P99 => Statistic::P99,
            Self::Max => Statistic::Max,
        }
    }
}

impl TuneWork {
    /// Options for measuring and for the search.
    pub const fn parts(&mut self) -> (&mut MeasureArgs, &mut SearchArgs) {
        match self {
            Self::Cyclic(tried) => (&mut tried.work.measuring, &mut tried.how),
            Self::Sleep(tried) => (&mut tried.work.measuring, &mut tried.how),
            Self::Notify(tried) => (&mut tried.work.measuring, &mut tried.how),
        }
    }

    /// Whether to continue an interrupted run.
    pub const fn resume_mut(&mut self) -> &mut bool {
        match self {
            Self::Cyclic(tried) => &mut tried.resume,
            Self::Sleep(tried) => &mut tried.resume,
            Self::Notify(tried) => &mut tried.resume,
        }
    }

    /// Whether `--why` is given, which `tune` refuses.
    pub const fn wants_reasons(&self) -> bool {
        match self {
            Self::Cyclic(tried) => tried.work.reasons.why,
            Self::Sleep(tried) => tried.work.reasons.why,
            Self::Notify(tried) => tried.work.reasons.why,
        }
    }
}
