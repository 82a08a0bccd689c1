//! What can be typed.

pub mod built_in_plans;
mod compare;
mod completion_values;
mod condition_options;
mod cyclic;
mod cyclictest_options;
mod doctor;
#[cfg(test)]
mod documented_tests;
mod file_name;
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
mod neighbours;
mod notify;
mod number;
mod output;
mod plan_length;
mod prometheus_file;
mod quick;
mod raw_words;
mod record;
mod recording_name;
#[cfg(test)]
mod reference_pages;
mod report;
mod run;
mod run_options;
mod selfcheck;
mod serve;
mod shorthand;
mod show;
mod sleep;
mod snap;
mod start_at;
mod time_range;
mod time_unit;
mod top;
mod tracing;
mod tune;
mod until;
mod watch;
mod why;

use clap::{Parser, Subcommand};

pub use compare::{Compare, ComparisonFormat};
pub use condition_options::Factors;
pub use cyclic::Cyclic;
pub use doctor::Doctor;
pub use file_name::file_name;
pub use fleet::{Fleet, FleetCommand, FleetRun, PlacementArgs, SlurmArgs};
pub use format::Format;
pub use gaps::Gaps;
pub use guest::Guest;
pub use identity::Identity;
pub use load::Load;
pub use man_page::man_page;
pub use measuring::Measuring;
pub use merge::Merge;
pub use notify::Notify;
pub use output::{Display, Output, Printing, Rows};
pub use plan_length::PlanLength;
pub use quick::Quick;
pub use raw_words::{Typed, names};
pub use record::Record;
pub use report::{Report, ReportFormat};
pub use run::Run;
pub use run_options::{Extent, WholeRun};
pub use selfcheck::Selfcheck;
pub use serve::Serve;
pub use shorthand::written_out;
pub use show::Show;
pub use sleep::Sleep;
pub use snap::Snap;
pub use start_at::StartAt;
pub use time_range::Moments;
pub use top::Top;
pub use tracing::{NothingToTrace, Reasons};
pub use tune::{HowToTune, Tune, TuneProgram, TuneSubject, TuneWork};
pub use until::{UntilKnown, UntilSeen};
pub use watch::Watch;
pub use why::Why;

/// What the program ends with.
pub const EXIT_STATUS: &str = "Exit status: 0 done and within limits, 1 a limit was exceeded or something is worse, \
2 could not (bad request, missing file), 3 ran, but not as asked, not to the end, or inconclusive.";

/// Of oslat, whose exit status is that of the original.
const OSLAT: &str = "Examples:\n  \
howlate oslat --cpu-list 2-7 --rtprio 1 --duration 1m\n\n\
Exit status: that of the original: 0 when done or interrupted, otherwise 1.";
/// The same of hwlatdetect.
const HWLATDETECT: &str = "Examples:\n  \
howlate hwlatdetect --duration=1m --threshold=20us\n\n\
Exit status: that of the original: 0 when done or interrupted, otherwise 1.";
/// The same of cyclicdeadline.
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
    after_help = EXIT_STATUS
)]
pub struct Cli {
    /// What is to be done.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Say on standard error what is tried, refused, read and written
    #[arg(long, global = true, hide_short_help = true)]
    pub debug: bool,
    /// Print what a bug report needs: version, machine, tracers, findings, the last run. Nothing is sent
    #[arg(long, hide_short_help = true)]
    pub debug_report: bool,
    /// What is measured where no command is typed.
    #[command(flatten)]
    pub quick: Quick,
}

/// What is to be done.
#[derive(Subcommand)]
pub enum Command {
    Cyclic(Cyclic),
    Sleep(Sleep),
    Notify(Notify),
    Run(Box<Run>),
    Tune(Tune),
    PlanLength(PlanLength),
    Watch(Watch),
    Top(Top),
    Gaps(Gaps),
    Record(Box<Record>),
    Snap(Snap),
    Load(Load),
    /// Act as cyclictest: same command line, same output
    #[command(
        disable_help_flag = true,
        after_help = "Exit status: that of cyclictest: 0 when done, interrupted or stopped by -b, otherwise 1."
    )]
    Cyclictest {
        /// What cyclictest takes
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        words: Vec<String>,
    },
    /// Act as oslat: same command line, same output
    #[command(disable_help_flag = true, after_help = OSLAT)]
    Oslat {
        /// What oslat takes
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        words: Vec<String>,
    },
    /// Act as hwlatdetect: same command line, same output
    #[command(disable_help_flag = true, after_help = HWLATDETECT)]
    Hwlatdetect {
        /// What hwlatdetect takes
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        words: Vec<String>,
    },
    /// Act as cyclicdeadline: same command line, same output
    #[command(disable_help_flag = true, after_help = CYCLICDEADLINE)]
    Cyclicdeadline {
        /// What cyclicdeadline takes
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        words: Vec<String>,
    },
    Compare(Compare),
    Doctor(Doctor),
    Guest(Guest),
    Why(Why),
    Selfcheck(Selfcheck),
    Show(Show),
    Report(Report),
    Serve(Serve),
    Merge(Merge),
    Fleet(Fleet),
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

impl Command {
    /// What measuring commands have in common; `None` for the others.
    pub const fn measuring_mut(&mut self) -> Option<&mut Measuring> {
        match self {
            Self::Cyclic(Cyclic { measuring, .. })
            | Self::Sleep(Sleep { measuring, .. })
            | Self::Notify(Notify { measuring, .. }) => Some(measuring),
            _ => None,
        }
    }
}
