//! `howlate run`

use std::path::PathBuf;

use clap::Args;
use howlate_model::{Limit, Span};

use super::measuring::dma_latency;

/// A whole experiment from a file: every condition, interleaved
#[derive(Args)]
#[command(after_help = "Examples:\n  \
howlate run plans/nanosleep.toml\n  \
howlate run plans/python-sleep.toml --samples 10 --rounds 2   # a short try\n  \
howlate run plans/python-sleep.toml --resume                  # after an interruption\n\n\
docs/plans.md describes plan files.")]
pub(crate) struct Run {
    /// The plan
    pub(crate) plan: PathBuf,
    /// Go on with the recording of an interrupted run
    #[arg(long)]
    pub(crate) resume: bool,
    /// Only show what would be measured, and how long it would take
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Measure here, even if the plan asks for guests
    #[arg(long)]
    pub(crate) here: bool,

    /// Wake-ups per thread and condition, instead of what the plan says
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Extent")]
    pub(crate) samples: Option<u64>,
    /// Time per condition, instead of what the plan says
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, help_heading = "Extent")]
    pub(crate) duration: Option<Span>,
    /// Turns per condition, instead of what the plan says
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Extent", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: Option<u32>,
    /// What the order of turns is drawn with; chosen anew each time if left out
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Extent")]
    pub(crate) seed: Option<u64>,
    /// Stop at once when a wake-up is later than this
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, help_heading = "Extent")]
    pub(crate) stop_above: Option<Span>,
    /// Hold /dev/cpu_dma_latency at this, to keep CPUs out of idle states that take longer to leave
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, help_heading = "Extent", value_parser = dma_latency)]
    pub(crate) dma_latency: Option<i32>,

    /// End with status 1 when a result exceeds this, such as 'max>100us' or 'p99.9>50us'
    #[arg(long, value_name = "LIMIT", help_heading = "Output")]
    pub(crate) fail_above: Vec<Limit>,
    /// Save the recording here; the plan's name with `.jsonl` if left out
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    /// Save every wake-up, in order, as Parquet
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) samples_out: Option<PathBuf>,
    /// Print the result for machines
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,
}

impl Run {
    /// Takes what was not typed from the plan's own options.
    pub(crate) fn or(mut self, plan: Self) -> Self {
        self.seed = self.seed.or(plan.seed);
        self.stop_above = self.stop_above.or(plan.stop_above);
        self.dma_latency = self.dma_latency.or(plan.dma_latency);
        if self.fail_above.is_empty() {
            self.fail_above = plan.fail_above;
        }
        self
    }

    /// What was typed, for a run of the same plan in a guest.
    pub(crate) fn in_guest(&self) -> Vec<String> {
        fn option(name: &str, value: Option<impl ToString>) -> Option<String> {
            value.map(|value| format!("--{name}={}", value.to_string()))
        }
        let typed = [
            option("samples", self.samples),
            option("duration", self.duration),
            option("rounds", self.rounds),
            option("seed", self.seed),
            option("stop-above", self.stop_above),
            option("dma-latency", self.dma_latency.map(|micros| format!("{micros}us"))),
        ];
        let mut words = vec!["run".to_owned(), self.plan.display().to_string(), "--here".to_owned()];
        words.extend(typed.into_iter().flatten());
        words.extend(self.fail_above.iter().map(|limit| format!("--fail-above={limit}")));
        words
    }

    /// The recording's path.
    pub(crate) fn recording(&self) -> PathBuf {
        let named_after = || PathBuf::from(self.plan.file_stem().unwrap_or_default()).with_extension("jsonl");
        self.out.clone().unwrap_or_else(named_after)
    }
}
