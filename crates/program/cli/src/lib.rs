//! The command line: commands, options, help, manual pages, hints and built-in plans.

pub mod built_in_plans;
mod compare;
mod completion_values;
mod condition_options;
mod cyclic;
mod cyclictest_options;
mod doctor;
#[cfg(test)]
mod documented_tests;
mod familiar_options;
mod fleet;
mod format;
mod gaps;
mod guest;
pub mod help;
pub mod hint;
mod identity;
mod load;
mod man_page;
mod measuring;
mod merge;
mod notify;
mod output;
mod plan_length;
mod quick;
mod raw_arguments;
mod record;
mod recording_name;
#[cfg(test)]
mod reference_pages;
mod report;
mod run;
mod run_options;
mod selfcheck;
mod serve;
pub mod short_help;
mod shorthand;
mod show;
mod similar_programs;
mod sleep;
mod snap;
mod start_at;
mod time_range;
mod top;
mod tracing;
mod tune;
mod until;
mod value_parsers;
mod watch;
mod why;

use clap::{Parser, Subcommand};

pub use compare::{CompareArgs, ComparisonFormat};
pub use condition_options::ConditionArgs;
pub use cyclic::CyclicArgs;
pub use doctor::DoctorArgs;
pub use fleet::{FleetArgs, FleetCommand, FleetRunArgs, PlacementArgs, SlurmArgs};
pub use format::OutputFormat;
pub use gaps::GapsArgs;
pub use guest::GuestArgs;
pub use identity::IdentityArgs;
pub use load::LoadArgs;
pub use man_page::man_page;
pub use measuring::MeasureArgs;
pub use merge::MergeArgs;
pub use notify::NotifyArgs;
pub use output::{DetailedPrintArgs, DisplayArgs, OutputArgs, PrintArgs, RowPer};
pub use plan_length::PlanLengthArgs;
pub use quick::QuickArgs;
pub use raw_arguments::{WithArguments, option_names};
pub use record::RecordArgs;
pub use report::{ReportArgs, ReportFormat};
pub use run::RunArgs;
pub use run_options::{ExtentArgs, WholeRunArgs};
pub use selfcheck::SelfcheckArgs;
pub use serve::ServeArgs;
pub use shorthand::expand_shorthand;
pub use show::ShowArgs;
pub use sleep::SleepArgs;
pub use snap::SnapArgs;
pub use start_at::StartAt;
pub use time_range::TimeRangeArgs;
pub use top::TopArgs;
pub use tracing::{NothingToTrace, TracingArgs};
pub use tune::{SearchArgs, TuneArgs, TuneProgram, TuneSubject, TuneWork};
pub use until::{MeasureUntilArgs, WatchUntilArgs};
pub use value_parsers::file_name;
pub use watch::WatchArgs;
pub use why::WhyArgs;

/// Help on the exit status.
pub const EXIT_STATUS: &str = "Exit status: 0 done and within limits, 1 a limit was exceeded or something is worse, \
2 could not (bad request, missing file), 3 ran, but not as asked, not to the end, or inconclusive.";

/// The same on one line.
const SHORT_EXIT_STATUS: &str =
    "Exit status: 0 done, 1 beyond a limit, 2 could not, 3 not as asked or undecided";

/// After-help of the programs whose exit status is that of the original.
const OSLAT: &str = "Examples:\n  \
howlate oslat --cpu-list 2-7 --rtprio 1 --duration 1m\n\n\
Exit status: that of the original: 0 when done or interrupted, otherwise 1.";
const HWLATDETECT: &str = "Examples:\n  \
howlate hwlatdetect --duration=1m --threshold=20us\n\n\
Exit status: that of the original: 0 when done or interrupted, otherwise 1.";
const CYCLICDEADLINE: &str = "Examples:\n  \
howlate cyclicdeadline -D 10\n  \
howlate cyclicdeadline -t 2 -i 10000 -D 1m -q --json=deadline.json\n\n\
Needs root. Exit status: that of the original: 0 when done, interrupted or stopped by -b, otherwise 1.";

/// How late Linux runs your code, and why.
#[derive(Parser)]
#[command(name = "howlate", version, max_term_width = 100)]
#[command(args_conflicts_with_subcommands = true)]
#[command(
    long_about = "How late Linux runs your code, and why.\n\nWithout a command, howlate takes a quick look (about 20 s): what is this machine, how late \
does it run a thread that wants to run every millisecond, idle and busy, and what costs most."
)]
#[command(
    after_help = SHORT_EXIT_STATUS,
    after_long_help = EXIT_STATUS
)]
pub struct Cli {
    /// What is to be done.
    #[command(subcommand)]
    pub command: Option<CliCommand>,
    /// Say on standard error what is tried, refused, read and written
    // Not in each command's help, which would not fit on a screen for it.
    #[arg(long, global = true, hide = true)]
    pub debug: bool,
    /// Print what a bug report needs: version, machine, tracers, findings, the last run. Nothing is sent. (And `--debug` with any
    /// command says on standard error what it tries, what is refused, and what it reads and writes.)
    #[arg(long, exclusive = true, hide_short_help = true)]
    pub debug_report: bool,
    /// What is measured where no command is typed.
    #[command(flatten)]
    pub quick: QuickArgs,
}

/// What is to be done.
#[derive(Subcommand)]
pub enum CliCommand {
    Cyclic(CyclicArgs),
    Sleep(SleepArgs),
    Notify(NotifyArgs),
    Run(Box<RunArgs>),
    Tune(TuneArgs),
    PlanLength(PlanLengthArgs),
    Watch(WatchArgs),
    Top(TopArgs),
    Gaps(GapsArgs),
    Record(Box<RecordArgs>),
    Snap(SnapArgs),
    Load(LoadArgs),
    /// Act as cyclictest: same command line, same output
    #[command(
        disable_help_flag = true,
        after_help = "Exit status: that of cyclictest: 0 when done, interrupted or stopped by -b, otherwise 1."
    )]
    Cyclictest {
        /// What cyclictest takes
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        arguments: Vec<String>,
    },
    /// Act as oslat: same command line, same output
    #[command(disable_help_flag = true, after_help = OSLAT)]
    Oslat {
        /// What oslat takes
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        arguments: Vec<String>,
    },
    /// Act as hwlatdetect: same command line, same output
    #[command(disable_help_flag = true, after_help = HWLATDETECT)]
    Hwlatdetect {
        /// What hwlatdetect takes
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        arguments: Vec<String>,
    },
    /// Act as cyclicdeadline: same command line, same output
    #[command(disable_help_flag = true, after_help = CYCLICDEADLINE)]
    Cyclicdeadline {
        /// What cyclicdeadline takes
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        arguments: Vec<String>,
    },
    Compare(CompareArgs),
    Doctor(DoctorArgs),
    Guest(GuestArgs),
    Why(WhyArgs),
    Selfcheck(SelfcheckArgs),
    Show(ShowArgs),
    Report(ReportArgs),
    Serve(ServeArgs),
    Merge(MergeArgs),
    Fleet(FleetArgs),
    /// Print a completion script for a shell
    #[command(after_help = "Examples:\n  \
howlate completions bash > ~/.local/share/bash-completion/completions/howlate\n  \
howlate completions fish > ~/.config/fish/completions/howlate.fish")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print every command, as `howlate help --all`
    #[command(name = "help-all", hide = true)]
    Help,
    /// Print a manual page
    #[command(after_help = "Examples:\n  \
howlate man cyclic | man -l -")]
    Man {
        /// The command that the page is about [default: the program itself]
        name: Option<String>,
    },
}

impl CliCommand {
    /// Common options of measuring commands; `None` for other commands.
    pub const fn measuring_mut(&mut self) -> Option<&mut MeasureArgs> {
        match self {
            Self::Cyclic(CyclicArgs { measuring, .. })
            | Self::Sleep(SleepArgs { measuring, .. })
            | Self::Notify(NotifyArgs { measuring, .. }) => Some(measuring),
            _ => None,
        }
    }
}
