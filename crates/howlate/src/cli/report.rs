//! What `howlate report` takes.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use howlate_report::Chart;

/// One page with words, tables and pictures of saved recordings
///
/// The page holds everything it needs: it opens from a disk, asks no network for anything, prints, and can
/// be read without its script. Several recordings stand side by side.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
howlate report run.jsonl\n  \
howlate report stock.jsonl rt.jsonl -o kernels.html\n  \
howlate report run.jsonl --format svg --chart percentiles > percentiles.svg\n  \
howlate report run.jsonl --format md >> \"$GITHUB_STEP_SUMMARY\"")]
pub(crate) struct Report {
    /// Recordings made with --out
    #[arg(required = true, value_name = "RECORDING")]
    pub(crate) recordings: Vec<PathBuf>,
    /// Where to write; `-` is standard output. A page goes to RECORDING.html in this folder if left out,
    /// everything else to standard output. An existing file is never written over
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// What to write
    #[arg(long, value_enum, default_value_t = ReportFormat::Html)]
    pub(crate) format: ReportFormat,
    /// The picture, with --format svg: overview, histogram, percentiles, time, sleeps, staircase, pairs, usual or worst
    #[arg(long, value_name = "PICTURE", required_if_eq("format", "svg"))]
    pub(crate) chart: Option<Chart>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// One page with everything
    Html,
    /// One picture
    Svg,
    /// Answer and tables as Markdown
    Md,
    /// One row per condition
    Csv,
}
