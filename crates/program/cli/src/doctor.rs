//! Options of `howlate doctor`.

use std::path::PathBuf;

use clap::Args;

/// What on this system makes threads late, why, and what to do about it
#[derive(Args)]
#[command(after_help = "Examples:\n  \
howlate doctor\n  \
howlate doctor --verbose\n  \
howlate doctor --json > findings.json")]
pub struct DoctorArgs {
    /// Print the findings for programs, as JSON
    #[arg(long)]
    pub json: bool,
    /// Also say why, what it costs, how to undo it and what was read, and list what is fine
    #[arg(long, short)]
    pub verbose: bool,
    /// Examine a captured tree instead of this machine
    #[arg(long, value_name = "FOLDER")]
    pub root: Option<PathBuf>,
}
