//! Options of `howlate show`.

use std::path::PathBuf;

use clap::Args;
use howlate_model::{Limit, Margin, TimeUnit};

use super::format::OutputFormat;
use super::output::RowPer;
use super::recording_name::recording_name;
use super::time_range::{GroupingArgs, TimeRangeArgs};
use super::value_parsers::file_name;
use super::value_parsers::prometheus_file;
use super::value_parsers::time_unit;

/// Print saved recordings, as tables or for other programs
#[derive(Args)]
#[command(after_help = "Examples:\n  \
howlate show\n  \
howlate show run.jsonl --plot\n  \
howlate show run.jsonl --format csv > run.csv\n  \
howlate show results/ -o nights.jsonl\n  \
howlate show /var/lib/howlate --at 03:12")]
pub struct ShowArgs {
    /// Recordings [default: the most recent run]
    #[arg(value_name = "RECORDING")]
    pub recordings: Vec<PathBuf>,
    /// What to print
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
    /// Print the result for programs, as JSON
    #[arg(long, conflicts_with_all = ["format", "plot"])]
    pub json: bool,
    /// Print everything, with --json also beyond 64 kB: each CPU, each part of the latency, the slowest wake-ups
    #[arg(long, conflicts_with = "format")]
    pub details: bool,
    /// One row per CPU: `cpu`; otherwise one row per condition
    #[arg(long, value_name = "ROWS", conflicts_with_all = ["details", "json", "format"])]
    pub by: Option<RowPer>,
    /// Save all of them as one recording, without loss, and show that
    #[arg(long, short, value_name = "FILE", value_parser = recording_name(), value_hint = clap::ValueHint::FilePath)]
    pub out: Option<PathBuf>,
    /// End with status 1 when a result exceeds this, such as 'max>100us' or 'p99.9>50us'
    #[arg(long, value_name = "LIMIT")]
    pub fail_above: Vec<Limit>,
    /// Ignore differences between machines within this [default: a tenth of their middle]
    #[arg(long, value_name = "LENGTH|SHARE", allow_hyphen_values = true)]
    pub margin: Option<Margin>,
    /// Also draw histograms and percentile curves
    #[arg(long, conflicts_with = "format")]
    pub plot: bool,
    /// Also write this file for Prometheus' node_exporter, replacing what it held
    #[arg(long, value_name = "FILE", value_parser = prometheus_file(), hide_short_help = true)]
    pub prometheus: Option<PathBuf>,
    /// Also save one row for each block of each condition and machine, as Parquet
    #[arg(long, value_name = "FILE", value_parser = file_name(), value_hint = clap::ValueHint::FilePath, hide_short_help = true)]
    pub blocks_out: Option<PathBuf>,
    /// Unit in files of other programs that do not state one: ns, us, ms or s
    #[arg(long, value_name = "UNIT", value_parser = time_unit, hide_short_help = true)]
    pub unit: Option<TimeUnit>,
    /// Draw with ASCII only; always so if the locale is not UTF-8
    #[arg(long, requires = "plot")]
    pub ascii: bool,
    /// Of when.
    #[command(flatten, next_help_heading = "For a howlate record folder")]
    pub moments: TimeRangeArgs,
    /// What is shown together.
    #[command(flatten)]
    pub together: GroupingArgs,
}

impl ShowArgs {
    /// The output format; `--json` is short for one of them.
    pub const fn output_format(&self) -> OutputFormat {
        if self.json { OutputFormat::Json } else { self.format }
    }
}
