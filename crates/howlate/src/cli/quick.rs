//! What `howlate` alone takes: the quick look.

use std::path::PathBuf;

use clap::Args;

use super::{Display, Identity, Printing, file_name};

/// What the quick look saves and prints.
#[derive(Args)]
pub(crate) struct Quick {
    /// Save the recording
    #[arg(long, short, value_name = "FILE", value_parser = file_name())]
    pub(crate) out: Option<PathBuf>,
    /// Do not keep the run for `howlate show`
    #[arg(long, hide_short_help = true)]
    pub(crate) no_save: bool,
    #[command(flatten)]
    pub(crate) printing: Printing,
    #[command(flatten)]
    pub(crate) identity: Identity,
    #[command(flatten)]
    pub(crate) display: Display,
}
