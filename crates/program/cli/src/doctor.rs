//! Options of `howlate doctor`.

use std::path::PathBuf;

use clap::Args;

/// List what on this machine makes threads late, and what to do about it
#[derive(Args)]
#[command(after_help = "Examples:\n  \
howlate doctor\n  \
howlate doctor --details\n  \
howlate doctor --json > findings.json")]
pub struct DoctorArgs {
    /// Print the findings for programs, as JSON
    #[arg(long)]
    pub json: bool,
    /// Also say why, what it costs, how to undo it and what was read, and list what is fine
    #[arg(long, alias = "verbose", short_alias = 'v')]
    pub details: bool,
    /// Examine a captured tree instead of this machine
    #[arg(long, value_name = "FOLDER")]
    pub root: Option<PathBuf>,
}
