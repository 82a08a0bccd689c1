//! Where results go.

use std::path::PathBuf;

use clap::Args;

/// What a measuring command saves and prints.
#[derive(Args, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct Output {
    /// Save the recording
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Save every wake-up, in order, as Parquet
    #[arg(long, value_name = "FILE")]
    pub(crate) samples_out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) printing: Printing,
}

/// What is printed, and what is shown meanwhile.
#[derive(Args, Clone, Copy, Default)]
pub(crate) struct Printing {
    /// Print the result for machines
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
