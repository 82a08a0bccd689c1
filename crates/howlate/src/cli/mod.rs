//! What can be typed.

mod compare;
mod completion_values;
mod condition_options;
#[cfg(test)]
mod documented;
mod fleet;
mod guest;
mod identity;
mod load;
mod measuring;
mod merge;
mod notify;
mod number;
mod output;
mod quick;
mod raw_words;
mod report;
mod run;
mod run_options;
mod selfcheck;
mod serve;
mod top;
mod tracing;
mod tune;
mod watch;
mod why;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use howlate_model::{Limit, Margin, Sleeper, Span, Wait};

pub(crate) use compare::{Compare, ComparisonFormat};
pub(crate) use condition_options::Factors;
pub(crate) use fleet::{Fleet, FleetCommand, FleetRun};
pub(crate) use guest::Guest;
pub(crate) use identity::Identity;
pub(crate) use load::Load;
pub(crate) use measuring::{Measuring, ThreadCount};
pub(crate) use merge::Merge;
pub(crate) use notify::Notify;
pub(crate) use output::{Output, Printing, file_name};
pub(crate) use quick::Quick;
pub(crate) use raw_words::{Typed, names};
pub(crate) use report::{Report, ReportFormat};
pub(crate) use run::Run;
pub(crate) use run_options::{Extent, WholeRun};
pub(crate) use selfcheck::Selfcheck;
pub(crate) use serve::Serve;
pub(crate) use top::Top;
pub(crate) use tracing::Reasons;
pub(crate) use tune::{HowToTune, Tune, TuneProgram, TuneSubject, TuneWork, with_work};
pub(crate) use watch::Watch;
pub(crate) use why::Why;

/// What the program ends with.
pub(crate) const EXIT_STATUS: &str = "Exit status: 0 done and within limits, 1 a limit was exceeded or something is worse, \
2 could not (bad request, missing file), 3 ran, but not as asked, not to the end, or inconclusive.";

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
    Watch(Watch),
    Top(Top),
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

/// How late periodic threads wake (what cyclictest measures)
#[derive(Args)]
#[command(after_help = "Examples:\n  \
howlate cyclic --policy fifo:80 --duration 1m\n  \
howlate cyclic --threads 5 --policy fifo:99 --staircase --distance 500us\n  \
howlate cyclic --policy other,fifo:80 --load idle,cpu \\\n      --fail-above 'p99.9>100us'")]
pub(crate) struct Cyclic {
    /// Time between planned wake-ups
    #[arg(
        long,
        value_name = "LENGTH,…",
        allow_hyphen_values = true,
        value_delimiter = ',',
        default_value = "1ms"
    )]
    pub(crate) period: Vec<Span>,
    /// Threads side by side: a number, or `per-cpu` for one bound to each CPU
    #[arg(long, value_name = "N", allow_hyphen_values = true, default_value = "per-cpu")]
    pub(crate) threads: ThreadCount,
    /// How the threads wait
    ///
    /// clock_nanosleep (until a time), clock_nanosleep_relative, nanosleep, timerfd, posix_timer, ppoll, epoll_pwait2, futex,
    /// busy_wait, sleep_then_spin.
    #[arg(long, value_name = "CALL,…", value_delimiter = ',', default_value = "clock_nanosleep",
        value_parser = completion_values::known::<Wait>(completion_values::waits), hide_possible_values = true)]
    pub(crate) call: Vec<Wait>,
    /// Added to the period of each further thread
    #[arg(
        long,
        value_name = "LENGTH",
        allow_hyphen_values = true,
        default_value = "0",
        hide_short_help = true
    )]
    pub(crate) distance: Span,
    /// Give each further thread the next lower priority
    #[arg(long, hide_short_help = true)]
    pub(crate) staircase: bool,
    /// Wake all threads at the same moment, rather than spread over the period
    #[arg(long, hide_short_help = true)]
    pub(crate) aligned: bool,
    #[command(flatten)]
    pub(crate) measuring: Measuring,
    #[command(flatten)]
    pub(crate) reasons: Reasons,
}

/// How late sleeps return, by length, call, policy and load
#[derive(Args)]
#[command(after_help = "Examples:\n  \
howlate sleep --for 0,10ns,100ns,1us,10us,100us,1ms,2ms,10ms \\\n      --policy other,nice:-20,rr:99\n  \
howlate sleep --for 1ms --call clock_nanosleep,timerfd,ppoll,busy_wait \\\n      --out calls.jsonl\n  \
howlate sleep --for 100us,10ms --call python,cpp,node --policy other,fifo:99")]
pub(crate) struct Sleep {
    /// How long to ask to sleep
    #[arg(
        long = "for",
        value_name = "LENGTH,…",
        allow_hyphen_values = true,
        value_delimiter = ',',
        default_value = "10us,100us,1ms,10ms"
    )]
    pub(crate) lengths: Vec<Span>,
    /// What sleeps: a system call, a language such as python, or a program such as ./my-probe
    ///
    /// System calls: clock_nanosleep, clock_nanosleep_relative, nanosleep, timerfd, posix_timer, ppoll, epoll_pwait2, futex,
    /// busy_wait, sleep_then_spin. Languages: python, c, cpp, rust, tokio, go, java, java_park, node, shell.
    #[arg(long, value_name = "CALL,…", value_delimiter = ',', default_value = "clock_nanosleep",
        value_parser = completion_values::known::<Sleeper>(completion_values::sleepers), hide_possible_values = true)]
    pub(crate) call: Vec<Sleeper>,
    #[command(flatten)]
    pub(crate) measuring: Measuring,
    #[command(flatten)]
    pub(crate) reasons: Reasons,
}

/// What on this system makes threads late, why, and what to do about it
#[derive(Args)]
#[command(after_help = "Examples:\n  \
howlate doctor\n  \
howlate doctor --verbose\n  \
howlate doctor --json > findings.json")]
pub(crate) struct Doctor {
    /// Print the findings for programs, as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Also show what was read, and everything that is fine
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Examine a captured tree instead of this machine
    #[arg(long, value_name = "FOLDER")]
    pub(crate) root: Option<PathBuf>,
}

/// Results of saved recordings, as tables or for programs
#[derive(Args)]
#[command(after_help = "Examples:\n  \
howlate show\n  \
howlate show run.jsonl --plot\n  \
howlate show run.jsonl --format csv > run.csv\n  \
howlate show results/")]
pub(crate) struct Show {
    /// Recordings; the most recent run if left out
    #[arg(value_name = "RECORDING")]
    pub(crate) recordings: Vec<PathBuf>,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// End with status 1 when a result exceeds this, such as 'max>100us' or 'p99.9>50us'
    #[arg(long, value_name = "LIMIT")]
    pub(crate) fail_above: Vec<Limit>,
    /// Of several machines: differences between them within this do not count; a tenth of their middle if left out
    #[arg(long, value_name = "LENGTH|SHARE", allow_hyphen_values = true)]
    pub(crate) margin: Option<Margin>,
    /// Also draw histograms and percentile curves
    #[arg(long, conflicts_with = "format")]
    pub(crate) plot: bool,
    /// Also write the results for Prometheus' node_exporter, replacing what the file held
    #[arg(long, value_name = "FILE")]
    pub(crate) prometheus: Option<PathBuf>,
    /// Also save one row for each block of each condition and machine, as Parquet
    #[arg(long, value_name = "FILE", value_parser = file_name, value_hint = clap::ValueHint::FilePath)]
    pub(crate) blocks_out: Option<PathBuf>,
    /// Draw with ASCII only; always so if the locale is not UTF-8
    #[arg(long, requires = "plot")]
    pub(crate) ascii: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Tables for people
    #[default]
    Text,
    /// One object with everything
    Json,
    /// One row per condition
    Csv,
    /// One row per sleep, in order
    Intervals,
    /// HdrHistogram log, one line per condition
    Hlog,
    /// Percentiles for HdrHistogram's plotter
    Hgrm,
    /// JUnit XML: one case per limit of --fail-above
    Junit,
    /// Test Anything Protocol 13: one point per limit of --fail-above
    Tap,
    /// Calls of LAVA's lava-test-case
    Lava,
    /// Report for KCIDB
    Kcidb,
    /// Entries for github-action-benchmark (customSmallerIsBetter)
    Benchmark,
    /// InfluxDB line protocol
    Influx,
    /// OSADL's RT Dataset 1.0, one line per condition of periodic threads
    Osadl,
    /// The worst wake-ups of --why, for ui.perfetto.dev
    Trace,
}
