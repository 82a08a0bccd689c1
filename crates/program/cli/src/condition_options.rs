//! Options for conditions, common to all measuring commands.

use std::str::FromStr;

use clap::Args;
use howlate_model::{CpuSet, Load, LoadList, Policy, Span};
use howlate_plan::{CommonChoices, deduplicate};

use super::completion_values;

/// What conditions differ in, besides what is measured.
#[derive(Args)]
#[command(next_help_heading = "Conditions")]
pub struct ConditionArgs {
    /// Scheduling policies, such as other,nice:-20,fifo:80
    ///
    /// other, batch, idle, ext, nice:N (-20 to 19), fifo:P, rr:P (1 to 99), deadline:RUNTIME/PERIOD.
    #[arg(
        long,
        value_parser = completion_values::completable::<Policy>(completion_values::policies), hide_possible_values = true,
        value_name = "POLICY,…",
        value_delimiter = ',',
        default_value = "other",
        allow_hyphen_values = true
    )]
    pub policy: Vec<Policy>,
    /// Timer slack to ask for, such as 1ns [default: inherited]
    #[arg(
        long,
        value_name = "LENGTH,…",
        allow_hyphen_values = true,
        value_delimiter = ',',
        hide_short_help = true
    )]
    pub slack: Vec<Slack>,
    /// CPUs to bind threads to, such as 0-1,3
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<CpuSet>,
    /// Background loads, such as cpu,pipe
    ///
    /// idle (none), cpu, pipe, interrupt, hackbench, memory, disk, files, network, fork, timers, awake, stress-ng:NAME,
    /// hackbench-program:OPTIONS, cmd:'COMMAND'. `:50%` is half of one, `+` joins several.
    #[arg(long, value_name = "LOAD,…", default_value = "idle", value_parser = completion_values::completable::<LoadList>(completion_values::loads), hide_possible_values = true)]
    pub load: Vec<LoadList>,
    /// CPUs to bind the background load to, such as 0-1,3 [default: all]
    #[arg(long, value_name = "LIST", hide_short_help = true)]
    pub load_cpus: Option<CpuSet>,
}

impl ConditionArgs {
    /// The choices for the plan, with the seed of its order.
    pub fn circumstances(&self, seed: u64) -> CommonChoices {
        let slacks = self.slack.iter().map(|slack| Some(slack.0));
        CommonChoices {
            policies: deduplicate(&self.policy),
            slacks: if self.slack.is_empty() { vec![None] } else { slacks.collect() },
            loads: self.loads(),
            cpus: self.cpus.clone().filter(|cpus| !cpus.is_empty()),
            seed,
        }
    }

    /// Requested loads, without duplicates.
    fn loads(&self) -> Vec<Load> {
        let bound = |load: Load| match &self.load_cpus {
            Some(cpus) => load.bound_to(cpus),
            None => load,
        };
        deduplicate(&self.load.iter().flat_map(|list| list.0.clone()).map(bound).collect::<Vec<_>>())
    }
}

/// A timer slack, not zero.
#[derive(Clone, Copy)]
pub struct Slack(Span);

impl FromStr for Slack {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let slack: Span = text.parse().map_err(|error: howlate_model::SpanError| error.to_string())?;
        if slack.is_zero() {
            return Err("the kernel takes slack 0 as \"as inherited\"; write `1ns` for the least".to_owned());
        }
        Ok(Self(slack))
    }
}
