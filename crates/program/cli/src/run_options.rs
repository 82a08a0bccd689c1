//! Options for the extent of a measurement and for whole runs.

use clap::Args;
use howlate_model::{Limit, Span};
use howlate_plan::RequestedExtent;

use super::value_parsers::count;

/// How much of each condition is measured.
#[derive(Args, Default)]
#[command(next_help_heading = "Duration")]
pub struct ExtentArgs {
    /// Wake-ups per thread and condition
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = count)]
    pub samples: Option<u64>,
    /// Time per condition
    ///
    /// With --samples, and in `notify`: when the condition is cut off.
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub duration: Option<Span>,
    /// Wake-ups at the start of each turn that are not counted [default: as many as it takes to warm up]
    #[arg(long, value_name = "N", allow_hyphen_values = true, hide_short_help = true, value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    pub warm_up: Option<u64>,
    /// Turns per condition, in random order
    #[arg(long, value_name = "N", allow_hyphen_values = true, hide_short_help = true, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: Option<u32>,
}

impl ExtentArgs {
    pub fn requested(&self) -> RequestedExtent {
        let Self { samples, warm_up, duration, rounds } = *self;
        RequestedExtent { samples, warm_up, duration, rounds }
    }

    /// Replaces values by those given for the whole run.
    pub fn replace(&mut self, run: &Self) {
        self.samples = run.samples.or(self.samples);
        self.duration = run.duration.or(self.duration);
        self.warm_up = run.warm_up.or(self.warm_up);
        self.rounds = run.rounds.or(self.rounds);
    }
}

/// What holds for a whole run, however many measuring commands it consists of.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Duration")]
pub struct WholeRunArgs {
    /// Seed of the random order of turns [default: a new one each time]
    #[arg(long, value_name = "N", allow_hyphen_values = true, hide_short_help = true)]
    pub seed: Option<u64>,
    /// Stop at once when a wake-up is later than this
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, hide_short_help = true)]
    pub stop_above: Option<Span>,
    /// Hold /dev/cpu_dma_latency at this, which keeps CPUs out of idle states that take longer to leave
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, hide_short_help = true, help_heading = "Conditions", value_parser = dma_latency)]
    pub dma_latency: Option<i32>,
    /// End with status 1 when a result exceeds this, such as 'max>100us' or 'p99.9>50us'
    #[arg(long, value_name = "LIMIT", help_heading = "Output")]
    pub fail_above: Vec<Limit>,
}

impl WholeRunArgs {
    /// Fills in missing values from `plan`.
    #[must_use]
    pub fn or(mut self, plan: Self) -> Self {
        self.seed = self.seed.or(plan.seed);
        self.stop_above = self.stop_above.or(plan.stop_above);
        self.dma_latency = self.dma_latency.or(plan.dma_latency);
        if self.fail_above.is_empty() {
            self.fail_above = plan.fail_above;
        }
        self
    }

    /// The given seed, or a random one.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(|| fastrand::u64(..1_000_000))
    }
}

/// Parses a length into microseconds, the kernel's unit.
fn dma_latency(text: &str) -> Result<i32, String> {
    let span: Span = text.parse().map_err(|error: howlate_model::SpanError| error.to_string())?;
    i32::try_from(span.as_nanos() / 1_000).map_err(|_| format!("`{text}` is too long; write at most 2000s"))
}
