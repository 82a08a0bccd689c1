//! What `howlate` alone takes: the quick look.

use std::path::PathBuf;

use clap::Args;

use super::recording_name::recording_name;
use super::{DisplayArgs, IdentityArgs, PrintArgs};

/// What the quick look saves and prints.
#[derive(Args)]
pub struct QuickArgs {
    /// Save the recording
    #[arg(long, short, value_name = "FILE", value_parser = recording_name())]
    pub out: Option<PathBuf>,
    /// Do not keep the run for `howlate show`
    #[arg(long, hide_short_help = true)]
    pub no_save: bool,
    /// How it is printed.
    #[command(flatten)]
    pub printing: PrintArgs,
    /// What the recording says of where it was made.
    #[command(flatten)]
    pub identity: IdentityArgs,
    /// What is shown meanwhile.
    #[command(flatten)]
    pub display: DisplayArgs,
}
