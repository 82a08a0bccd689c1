//! What can be typed.

mod compare;
mod completion_values;
mod condition_options;
mod cyclic;
mod cyclictest_options;
mod doctor;
#[cfg(test)]
mod documented_tests;
mod fleet;
mod format;
mod gaps;
mod guest;
pub(crate) mod help;
pub(crate) mod hint;
mod identity;
mod load;
mod measuring;
mod merge;
mod notify;
mod number;
mod output;
mod plan_length;
mod quick;
mod raw_words;
mod record;
mod report;
mod run;
mod run_options;
mod selfcheck;
mod serve;
mod shorthand;
mod show;
mod sleep;
mod snap;
mod time_range;
mod top;
mod tracing;
mod tune;
mod until;
mod watch;
mod why;

use clap::{Parser, Subcommand};

pub(crate) use compare::{Compare, ComparisonFormat};
pub(crate) use condition_options::Factors;
pub(crate) use cyclic::Cyclic;
pub(crate) use doctor::Doctor;
pub(crate) use fleet::{Fleet, FleetCommand, FleetRun, PlacementArgs, SlurmArgs};
pub(crate) use format::Format;
pub(crate) use gaps::Gaps;
pub(crate) use guest::Guest;
pub(crate) use identity::Identity;
pub(crate) use load::Load;
pub(crate) use measuring::Measuring;
pub(crate) use merge::Merge;
pub(crate) use notify::Notify;
pub(crate) use output::{Display, Output, Printing, Rows, file_name};
pub(crate) use plan_length::PlanLength;
pub(crate) use quick::Quick;
pub(crate) use raw_words::{Typed, names};
pub(crate) use record::Record;
pub(crate) use report::{Report, ReportFormat};
pub(crate) use run::Run;
pub(crate) use run_options::{Extent, WholeRun};
pub(crate) use selfcheck::Selfcheck;
pub(crate) use serve::Serve;
pub(crate) use shorthand::written_out;
pub(crate) use show::Show;
pub(crate) use sleep::Sleep;
pub(crate) use snap::Snap;
pub(crate) use time_range::Moments;
pub(crate) use top::Top;
pub(crate) use tracing::Reasons;
pub(crate) use tune::{HowToTune, Tune, TuneProgram, TuneSubject, TuneWork};
pub(crate) use until::UntilKnown;
pub(crate) use watch::Watch;
pub(crate) use why::Why;

/// What the program ends with.
pub(crate) const EXIT_STATUS: &str = "Exit status: 0 done and within limits, 1 a limit was exceeded or something is worse, \
2 could not (bad request, missing file), 3 ran, but not as asked, not to the end, or inconclusive.";

/// Of oslat, whose exit status is that of the original.
const OSLAT: &str = "Examples:\n  \
howlate oslat --cpu-list 2-7 --rtprio 1 --duration 1m\n\n\
Exit status: that of the original: 0 when done or interrupted, otherwise 1.";
/// The same of hwlatdetect.
const HWLATDETECT: &str = "Examples:\n  \
howlate hwlatdetect --duration=1m --threshold=20us\n\n\
Exit status: that of the original: 0 when done or interrupted, otherwise 1.";

/// How late Linux runs your code, and why.
#[derive(Parser)]
#[command(name = "howlate", version, max_term_width = 100)]
#[command(args_conflicts_with_subcommands = true)]
#[command(
    long_about = "How late Linux runs your code, and why.\n\nWithout a command, howlate takes a quick look (15 to 30 s): what is this machine, how late \
does it run a thread that wants to run every millisecond, idle and busy, and what costs most."
)]
#[command(
    after_help = EXIT_STATUS
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) quick: Quick,
}

#[derive(Subcommand)]
pub(crate) enum Command {
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
        /// The command that the page is about; the program itself if left out
        name: Option<String>,
    },
}

impl Command {
    /// What measuring commands have in common; `None` for the others.
    pub(crate) const fn measuring_mut(&mut self) -> Option<&mut Measuring> {
        match self {
            Self::Cyclic(Cyclic { measuring, .. })
            | Self::Sleep(Sleep { measuring, .. })
            | Self::Notify(Notify { measuring, .. }) => Some(measuring),
            _ => None,
        }
    }
}
