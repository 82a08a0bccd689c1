//! Options of `howlate plan-length`.

use clap::Args;
use howlate_model::{Span, StopRule};

/// Say how long a measurement must be
#[derive(Args)]
#[command(after_help = "Examples:\n  \
howlate plan-length 'max<100us: 1 per hour'\n  \
howlate plan-length 'p99.9 ±5%' --period 10ms")]
pub struct PlanLengthArgs {
    /// What is to be known, as `--until` takes it
    #[arg(value_name = "FIGURE")]
    pub figure: StopRule,
    /// Time between wake-ups, where that makes a difference
    #[arg(long, value_name = "LENGTH", default_value = "1ms")]
    pub period: Span,
    /// Print it for programs, as JSON
    #[arg(long)]
    pub json: bool,
}
