//! Common options of measuring commands.

use std::str::FromStr;

use clap::Args;
use howlate_model::{Span, WaitClock};
use howlate_plan::{Plan, ThreadSpec};

use super::{ConditionArgs, ExtentArgs, MeasureUntilArgs, OutputArgs, WholeRunArgs};

/// Conditions, extent and output of a measurement.
#[derive(Args)]
pub struct MeasureArgs {
    /// The conditions.
    #[command(flatten)]
    pub factors: ConditionArgs,
    /// How much is measured.
    #[command(flatten)]
    pub extent: ExtentArgs,
    /// When it is known well enough.
    #[command(flatten)]
    pub until: MeasureUntilArgs,
    /// What is of the whole run.
    #[command(flatten)]
    pub run: WholeRunArgs,
    /// Cut off a turn that is not done after this, and say so [default: ten times what it should take]
    #[arg(
        long,
        value_name = "LENGTH",
        allow_hyphen_values = true,
        hide_short_help = true,
        help_heading = "Duration"
    )]
    pub cut_after: Option<Span>,
    /// Where results go, and as what.
    #[command(flatten)]
    pub output: OutputArgs,
    /// Do not keep the run for `howlate show`
    #[arg(long, hide_short_help = true, help_heading = "Output")]
    pub no_save: bool,
}

impl MeasureArgs {
    /// Applies `--cut-after` to `plan`.
    pub fn with_cut_off(&self, mut plan: Plan) -> Plan {
        if let Some(limit) = self.cut_after {
            plan.cut_after(limit);
        }
        plan
    }
}

/// On which clocks threads wait.
#[derive(Args)]
pub struct ClockArgs {
    /// The clock to wait on and to read: monotonic, realtime, tai, boottime, aux0 to aux7
    ///
    /// A clock that is set while a thread waits on it makes that thread early or late, and the result says so.
    #[arg(
        long = "clock",
        value_name = "CLOCK,…",
        value_delimiter = ',',
        default_value = "monotonic",
        hide_short_help = true,
        help_heading = "Conditions"
    )]
    pub clocks: Vec<WaitClock>,
}

/// A number of threads, or one per CPU.
#[derive(Clone, Copy)]
pub struct ThreadCount(pub ThreadSpec);

impl FromStr for ThreadCount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        /// Maximum number of threads.
        const MOST: u32 = 1_000;
        if text == "per-cpu" {
            return Ok(Self(ThreadSpec::PerCpu));
        }
        match text.parse() {
            Ok(count) if (1..=MOST).contains(&count) => Ok(Self(ThreadSpec::Count(count))),
            _ => Err(format!("write a number from 1 to {MOST}, or `per-cpu`")),
        }
    }
}
