//! `howlate why`

use std::path::PathBuf;

use clap::Args;
use howlate_model::Span;
use howlate_session::Keep;
use howlate_trace::Choice;

use super::recording_name::recording_name;
use super::{
    DetailedPrintArgs, DisplayArgs, IdentityArgs, RowPer, TimeRangeArgs, TracingArgs, completion_values,
};

/// Explain where lateness comes from, on this machine or in recordings
///
/// Looking at this machine takes about 30 s. Recordings must have been traced.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
howlate why\n  \
howlate cyclic --why && howlate why --last --late-above 100us\n  \
howlate cyclic --policy fifo:80,other --load idle,pipe --why --out w.jsonl\n  \
howlate why w.jsonl --late-above 100us\n  \
howlate why /var/lib/howlate --at 03:12")]
pub struct WhyArgs {
    /// Traced recordings [default: measure this machine]
    #[arg(value_name = "RECORDING")]
    pub recordings: Vec<PathBuf>,
    /// The most recent run kept
    #[arg(long, conflicts_with = "recordings")]
    pub last: bool,
    /// Which wake-ups count as late [default: those above the 99th percentile]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub late_above: Option<Span>,
    /// Keep what all CPUs did around the worst wake-ups, beside the recording: how much is remembered, and how many at most
    ///
    /// A timeline for ui.perfetto.dev, from 100 ms before the wake-up was due to 100 ms after it; `2s,20` keeps 20 of a run, `2s` 10.
    #[arg(long, value_name = "LENGTH[,N]", hide_short_help = true, conflicts_with_all = ["recordings", "last"])]
    pub keep: Option<Keep>,
    /// One row per CPU: `cpu`; otherwise one row per condition
    #[arg(long, value_name = "ROWS", conflicts_with_all = ["details", "json"])]
    pub by: Option<RowPer>,
    /// How to trace: auto takes the best available; or bpf, tracefs, switches, none
    #[arg(long, value_name = "TRACER", default_value = "auto", hide_short_help = true, value_parser = completion_values::completable::<Choice>(completion_values::tracers), hide_possible_values = true, conflicts_with = "recordings")]
    pub tracer: Choice,
    /// Save the recording
    #[arg(long, short, value_name = "FILE", conflicts_with = "recordings", value_parser = recording_name())]
    pub out: Option<PathBuf>,
    /// Do not keep the run for `howlate show`
    #[arg(long, conflicts_with = "recordings")]
    pub no_save: bool,
    /// What the recording says of where it was made.
    #[command(flatten)]
    pub identity: IdentityArgs,
    /// How it is printed.
    #[command(flatten)]
    pub printing: DetailedPrintArgs,
    /// What is shown meanwhile.
    #[command(flatten)]
    pub display: DisplayArgs,
    /// Of when.
    #[command(flatten, next_help_heading = "For a howlate record folder")]
    pub moments: TimeRangeArgs,
}

impl WhyArgs {
    /// Tracing options for measuring this machine.
    pub fn reasons(&self) -> TracingArgs {
        let (tracer, late_above, keep) = (self.tracer, self.late_above, self.keep);
        TracingArgs { why: true, tracer, late_above, on_late: Vec::new(), keep }
    }
}
