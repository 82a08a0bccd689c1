//! Options that every measuring command has.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use howlate_model::{Caveat, CpuSet, Limit, Load, Loads, Policy, Span};
use howlate_plan::{Circumstances, Plan, Threads};

/// Circumstances, extent and output of a measurement.
#[derive(Args)]
pub(crate) struct Measuring {
    /// Scheduling policies: other, batch, idle, nice:N, fifo:P, rr:P, deadline:RUNTIME/PERIOD
    #[arg(
        long,
        value_name = "POLICY,…",
        value_delimiter = ',',
        default_value = "other",
        allow_hyphen_values = true
    )]
    #[arg(help_heading = "Circumstances")]
    pub(crate) policy: Vec<Policy>,
    /// Timer slack to ask for, such as 1ns; as inherited if left out
    #[arg(
        long,
        value_name = "LENGTH,…",
        allow_hyphen_values = true,
        value_delimiter = ',',
        help_heading = "Circumstances"
    )]
    pub(crate) slack: Vec<Slack>,
    /// CPUs to bind threads to, such as 0-1,3
    #[arg(long, value_name = "LIST", help_heading = "Circumstances")]
    pub(crate) cpus: Option<CpuSet>,
    /// Background loads: idle, cpu, pipe, interrupt, hackbench, memory, disk, files, network, fork,
    /// timers, awake, stress-ng:NAME, hackbench-program:OPTIONS, cmd:'COMMAND'; `:50%` halves one, `+` joins several
    #[arg(long, value_name = "LOAD,…", default_value = "idle")]
    #[arg(help_heading = "Circumstances")]
    pub(crate) load: Vec<Loads>,
    /// CPUs to bind the background load to, such as 0-1,3; all if left out
    #[arg(long, value_name = "LIST", help_heading = "Circumstances")]
    pub(crate) load_cpus: Option<CpuSet>,
    /// Hold /dev/cpu_dma_latency at this, to keep CPUs out of idle states that take longer to leave
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, help_heading = "Circumstances", value_parser = dma_latency)]
    pub(crate) dma_latency: Option<i32>,

    /// Wake-ups per thread and condition
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Extent")]
    pub(crate) samples: Option<u64>,
    /// Time per condition
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, help_heading = "Extent")]
    pub(crate) duration: Option<Span>,
    /// Turns per condition; conditions take turns in random order
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Extent", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: Option<u32>,
    /// What the order of turns is drawn with; chosen anew each time if left out
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Extent")]
    pub(crate) seed: Option<u64>,
    /// Stop at once when a wake-up is later than this
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, help_heading = "Extent")]
    pub(crate) stop_above: Option<Span>,

    /// Cut a turn that is not done after this, and say so; ten times what it should take if left out
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, help_heading = "Extent")]
    pub(crate) cut_after: Option<Span>,

    /// End with status 1 when a result exceeds this, such as 'max>100us' or 'p99.9>50us'
    #[arg(long, value_name = "LIMIT", help_heading = "Output")]
    pub(crate) fail_above: Vec<Limit>,
    /// Save the recording
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

/// A timer slack that can be asked for.
#[derive(Clone, Copy)]
pub(crate) struct Slack(Span);

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

/// Microseconds, which is what the kernel counts in.
pub(super) fn dma_latency(text: &str) -> Result<i32, String> {
    let span: Span = text.parse().map_err(|error: howlate_model::SpanError| error.to_string())?;
    i32::try_from(span.as_nanos() / 1_000).map_err(|_| format!("`{text}` is too long; write at most 2000s"))
}

/// A number of threads, or one per CPU.
#[derive(Clone, Copy)]
pub(crate) struct ThreadCount(pub(crate) Threads);

impl FromStr for ThreadCount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        /// More threads than this are a slip of the finger.
        const MOST: u32 = 1_000;
        if text == "per-cpu" {
            return Ok(Self(Threads::PerCpu));
        }
        match text.parse() {
            Ok(count) if (1..=MOST).contains(&count) => Ok(Self(Threads::Count(count))),
            _ => Err(format!("write a number from 1 to {MOST}, or `per-cpu`")),
        }
    }
}

impl Measuring {
    /// The loads asked for, each once.
    fn loads(&self) -> Vec<Load> {
        let bound = |load: Load| match &self.load_cpus {
            Some(cpus) => load.bound_to(cpus),
            None => load,
        };
        without_repeats(&self.load.iter().flat_map(|list| list.0.clone()).map(bound).collect::<Vec<_>>())
    }

    /// Takes away the loads that cannot be applied here; tells why. Whether any is left.
    pub(crate) fn leave_out_loads(&mut self) -> (Vec<Caveat>, bool) {
        let mut left_out = Vec::new();
        for list in &mut self.load {
            list.0.retain(|load| match howlate_load::check(load) {
                Ok(()) => true,
                Err(error) => {
                    let (condition, reason) = (format!("load {load}"), error.to_string());
                    left_out.push(Caveat::LeftOut { condition, reason });
                    false
                }
            });
        }
        (left_out, self.load.iter().any(|list| !list.0.is_empty()))
    }

    /// `plan` with the limit that was asked for.
    pub(crate) fn cut(&self, mut plan: Plan) -> Plan {
        if let Some(limit) = self.cut_after {
            plan.cut_after(limit);
        }
        plan
    }

    /// The choices that plans expand.
    pub(crate) fn circumstances(&self) -> Circumstances {
        let slacks = self.slack.iter().map(|slack| Some(slack.0));
        Circumstances {
            policies: without_repeats(&self.policy),
            slacks: if self.slack.is_empty() { vec![None] } else { slacks.collect() },
            loads: self.loads(),
            cpus: self.cpus.clone().filter(|cpus| !cpus.is_empty()),
            seed: self.seed.unwrap_or_else(|| fastrand::u64(..1_000_000)),
        }
    }
}

/// Gives access to the options that a measuring command shares with the others.
macro_rules! has_measuring {
    ($($command:ty),*) => {$(
        impl AsMut<Measuring> for $command {
            fn as_mut(&mut self) -> &mut Measuring {
                &mut self.measuring
            }
        }
    )*};
}

has_measuring!(super::Sleep, super::Cyclic, super::Notify);

/// The same value typed twice is meant once.
pub(crate) fn without_repeats<T: Clone + PartialEq>(values: &[T]) -> Vec<T> {
    let mut once: Vec<T> = Vec::new();
    for value in values {
        if !once.contains(value) {
            once.push(value.clone());
        }
    }
    once
}
