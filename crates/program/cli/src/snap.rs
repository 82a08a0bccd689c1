//! Options of `howlate snap`.

use std::path::PathBuf;

use clap::Args;

/// Ask a running recorder to keep what all CPUs just did
#[derive(Args)]
#[command(after_help = "Examples:\n  \
howlate snap\n  \
howlate snap /var/lib/howlate\n\n\
Prints the file, which ui.perfetto.dev opens. SIGUSR2 to the recorder does the same.")]
pub struct SnapArgs {
    /// The folder that is recorded to
    #[arg(value_name = "FOLDER", default_value = "/var/lib/howlate", value_hint = clap::ValueHint::DirPath)]
    pub folder: PathBuf,
    /// Print it for programs, as JSON
    #[arg(long)]
    pub json: bool,
}
