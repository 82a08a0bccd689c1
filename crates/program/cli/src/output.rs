//! Where results go.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum, ValueHint};

use super::recording_name::recording_name;
use super::value_parsers::file_name;
use super::{IdentityArgs, OutputFormat};

/// What a measuring command saves and prints.
#[derive(Args, Default)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Save the recording
    #[arg(long, short, value_name = "FILE", value_parser = recording_name(), value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
    /// Save every wake-up, in order, as Parquet
    #[arg(long, value_name = "FILE", value_parser = file_name(), value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub samples_out: Option<PathBuf>,
    /// Also write the result as JSON, replacing what the file held
    #[arg(long, value_name = "FILE", value_parser = file_name(), value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub export_json: Option<PathBuf>,
    /// Also write the result as Markdown, as `howlate report --format md` has it, replacing what the file held
    #[arg(long, value_name = "FILE", value_parser = file_name(), value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub export_markdown: Option<PathBuf>,
    /// Print everything, with --json also beyond 64 kB: each CPU, each part of the latency, the slowest wake-ups
    #[arg(long, conflicts_with = "format", hide_short_help = true)]
    pub details: bool,
    /// What to print
    #[arg(long, value_enum, default_value_t = OutputFormat::Text, conflicts_with = "json", hide_short_help = true)]
    pub format: OutputFormat,
    /// What the recording says of where it was made.
    #[command(flatten)]
    pub identity: IdentityArgs,
    /// How it is printed.
    #[command(flatten)]
    pub printing: PrintArgs,
    /// What is shown meanwhile.
    #[command(flatten)]
    pub display: DisplayArgs,
}

impl OutputArgs {
    /// The output format; `--json` is short for one of them.
    pub const fn output_format(&self) -> OutputFormat {
        if self.printing.json { OutputFormat::Json } else { self.format }
    }

    /// The files to write, with their options.
    pub fn files(&self) -> Vec<(&'static str, &Path)> {
        let all = [
            ("--out", &self.out),
            ("--samples-out", &self.samples_out),
            ("--export-json", &self.export_json),
            ("--export-markdown", &self.export_markdown),
        ];
        all.into_iter().filter_map(|(option, path)| Some((option, path.as_deref()?))).collect()
    }

    /// The recording's name, `-` if it is not saved.
    pub fn name(&self) -> String {
        self.out.as_ref().map_or_else(|| "-".to_owned(), |path| path.display().to_string())
    }
}

/// What has a row of its own.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RowPer {
    /// Each CPU
    Cpu,
}

/// What is shown while it is measured.
#[derive(Args, Clone, Copy, Default)]
#[command(next_help_heading = "Output")]
pub struct DisplayArgs {
    /// Show the run on the whole screen; `?` lists its keys
    #[arg(long, conflicts_with = "quiet")]
    pub live: bool,
}

/// What is printed, by commands without other formats than text and JSON.
#[derive(Args, Clone, Copy, Default)]
#[command(next_help_heading = "Output")]
pub struct DetailedPrintArgs {
    /// As other commands print it.
    #[command(flatten)]
    pub common: PrintArgs,
    /// Print everything, with --json also beyond 64 kB: each CPU, each part of the latency, the slowest wake-ups
    #[arg(long, hide_short_help = true)]
    pub details: bool,
}

/// What is printed, and what is shown meanwhile.
#[derive(Args, Clone, Copy, Default)]
pub struct PrintArgs {
    /// Print the result for programs, as JSON
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long, short, hide_short_help = true)]
    pub quiet: bool,
}
