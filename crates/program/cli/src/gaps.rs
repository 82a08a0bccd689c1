//! Options of `howlate gaps`.

use clap::Args;
use howlate_gaps::GapRequest;
use howlate_model::{CpuSet, Policy, Span};

use super::PrintArgs;

/// Measure how long a spinning thread loses its CPU, and to whom
#[derive(Args)]
#[command(after_help = "Examples:\n  \
howlate gaps\n  \
howlate gaps --cpus 2-7 --policy fifo:80 --duration 1m\n  \
howlate gaps --above 20us --json > gaps.json\n\n\
Every gap is counted; as root, each is split into interrupts, softirqs, threads, NMIs, and time for which the kernel\n\
has no event: the hypervisor or the firmware. Ctrl-C keeps the result.")]
pub struct GapsArgs {
    /// CPUs to measure, a spinning thread on each [default: all that can be used, except the first]
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<CpuSet>,
    /// Policy of the spinning threads
    #[arg(long, value_name = "POLICY", default_value = "other")]
    pub policy: Policy,
    /// Shortest gap that counts [default: 1 µs, or 4 passes of the loop if that is more]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub above: Option<Span>,
    /// End after this time
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, default_value = "10s")]
    pub duration: Span,
    /// How to find out who had the CPU: auto (the kernel's trace, where allowed), or none
    #[arg(long, value_name = "TRACER", value_parser = ["auto", "none"], default_value = "auto")]
    pub tracer: String,
    /// Take CPUs in real time, even without a limit (kernel.sched_rt_runtime_us = -1)
    #[arg(long)]
    pub yes_lock: bool,
    /// Print everything: each CPU, all causes, and how long the gaps were
    #[arg(long)]
    pub details: bool,
    /// How it is printed.
    #[command(flatten)]
    pub printing: PrintArgs,
}

impl GapsArgs {
    pub fn request(&self) -> GapRequest {
        GapRequest {
            cpus: self.cpus.clone(),
            policy: self.policy,
            threshold: self.above,
            duration: Some(self.duration),
            use_tracing: self.tracer == "auto",
            allow_lockup: self.yes_lock,
            copied_bytes: None,
        }
    }
}
