//! `howlate selfcheck`

use clap::Args;
use howlate_model::Span;
use howlate_selfcheck::inject::CauseClass;
use howlate_trace::Choice;

use super::{PrintArgs, completion_values};

/// Provoke known causes of lateness, and count how many are found
#[derive(Args)]
#[command(after_help = "\
Causes: thread, competitors, stopped, throttled, other_timers, softirq, page_fault, timer_slack, late_arming, machine_stopped\n\n\
Examples:\n  \
howlate selfcheck\n  \
howlate selfcheck --cause thread,softirq --duration 20s\n  \
howlate selfcheck --json > selfcheck.json")]
pub struct SelfcheckArgs {
    /// Causes to provoke [default: all]
    #[arg(long = "cause", alias = "for", value_name = "CAUSE,…", value_delimiter = ',')]
    pub classes: Vec<CauseClass>,
    /// How long to provoke each
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, default_value = "5s")]
    pub duration: Span,
    /// How to trace: auto takes the best available; or bpf, tracefs, switches, none
    #[arg(long, value_name = "TRACER", default_value = "auto", hide_short_help = true, value_parser = completion_values::completable::<Choice>(completion_values::tracers), hide_possible_values = true)]
    pub tracer: Choice,
    /// How it is printed.
    #[command(flatten)]
    pub printing: PrintArgs,
}
