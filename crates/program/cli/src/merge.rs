//! Options of `howlate merge`.

use std::path::PathBuf;

use clap::Args;

use super::recording_name::recording_name;

/// Make one recording of many, without loss
///
/// Counts are added, and percentiles recomputed.
#[derive(Args)]
#[command(
    after_help = "Exit status: 0 all are in it, 2 could not, 3 some are left out, each with the reason.\n\nExamples:\n  \
howlate merge night-1.jsonl night-2.jsonl -o nights.jsonl\n  \
howlate merge results/ -o fleet.jsonl\n\n\
Conditions are the same where all that was asked for is, and the machine: different periods, policies, loads or kernels stay
apart, as does what was refused on one machine and ran on another. A recording that is given twice counts once."
)]
pub struct MergeArgs {
    /// Recordings made with --out, folders of them, or patterns
    #[arg(required = true, value_name = "RECORDING")]
    pub recordings: Vec<PathBuf>,
    /// Where the merged recording goes
    #[arg(long, short, value_name = "FILE", value_parser = recording_name())]
    pub out: PathBuf,
    /// Print what was merged for programs, as JSON
    #[arg(long)]
    pub json: bool,
}
