//! Tracing options.

use clap::Args;
use howlate_model::{Caveat, Condition, Span, Work};
use howlate_plan::Plan;
use howlate_trace::Choice;

use super::completion_values;
use howlate_session::{Keep, LateAction, TraceOptions};

/// Turns that are traced beside those that are not.
#[derive(Args, Clone, Default)]
pub struct TracingArgs {
    /// Also find out why wake-ups are late
    ///
    /// Every turn is repeated with a tracer running. Without it, `cyclic` traces a tenth of its turns where it can and lasts 10 s or more.
    #[arg(long, help_heading = "Tracing")]
    pub why: bool,
    /// How to trace: auto takes the best available; or bpf, tracefs, switches, none
    #[arg(long, value_name = "TRACER", default_value = "auto", hide_short_help = true, value_parser = completion_values::completable::<Choice>(completion_values::tracers), hide_possible_values = true, requires_ifs = [("bpf", "why"), ("tracefs", "why"), ("switches", "why")], help_heading = "Tracing")]
    pub tracer: Choice,
    /// Which wake-ups count as late [default: those above the 99th percentile]
    #[arg(
        long,
        value_name = "LENGTH",
        allow_hyphen_values = true,
        requires = "why",
        hide_short_help = true,
        help_heading = "Tracing"
    )]
    pub late_above: Option<Span>,
    /// About each wake-up above --late-above in traced turns: a command, which gets its JSON, or signal:PID:USR1
    ///
    /// `--stop-above` ends the run.
    #[arg(long, value_name = "COMMAND", requires = "late_above", hide_short_help = true, help_heading = "Tracing", value_parser = action_without_stop)]
    pub on_late: Vec<LateAction>,
    /// Keep what all CPUs did around the worst wake-ups, beside the recording: how much is remembered, and how many at most
    ///
    /// A timeline for ui.perfetto.dev, from 100 ms before the wake-up was due to 100 ms after it; `2s,20` keeps 20 of a run, `2s` 10.
    #[arg(
        long,
        value_name = "LENGTH[,N]",
        requires = "why",
        hide_short_help = true,
        help_heading = "Tracing"
    )]
    pub keep: Option<Keep>,
}

/// Actions of a command that has `--stop-above`.
fn action_without_stop(text: &str) -> Result<LateAction, String> {
    match text.parse()? {
        LateAction::Stop => Err("`--stop-above LENGTH` ends the run".to_owned()),
        action => Ok(action),
    }
}

/// None of the conditions can be traced, for these reasons.
#[derive(Debug)]
pub struct NothingToTrace(pub Vec<Caveat>);

/// Default turns per condition: enough to measure the overhead of tracing.
const ROUNDS: u32 = 10;

impl TracingArgs {
    /// The given options, or those of a plan, which has no actions.
    #[must_use]
    pub fn or(self, plan: Self) -> Self {
        if self.why { self } else { plan }
    }

    pub fn rounds(&self, requested: Option<u32>) -> Option<u32> {
        requested.or(self.why.then_some(ROUNDS))
    }

    /// Adds traced turns to a plan if requested.
    pub fn add_to(&self, plan: &mut Plan, seed: u64) -> Result<Option<TraceOptions>, NothingToTrace> {
        if !self.why {
            return Ok(None);
        }
        let from_round = plan.add_traced(seed).ok_or_else(|| NothingToTrace(plan.left_out.clone()))?;
        Ok(Some(TraceOptions {
            tracer: self.tracer,
            from_round,
            late_above: self.late_above,
            keep: self.keep,
            unasked: false,
        }))
    }

    /// Like [`add_to`](Self::add_to), but by default also traces a part of a long run of periodic threads.
    pub fn add_to_run(&self, plan: &mut Plan, seed: u64) -> Result<Option<TraceOptions>, NothingToTrace> {
        let is_periodic = |condition: &Condition| matches!(condition.work, Work::Cyclic { .. });
        if self.why || self.tracer == Choice::None || !plan.conditions.iter().all(is_periodic) {
            return self.add_to(plan, seed);
        }
        let (tracer, late_above, keep, unasked) = (self.tracer, None, None, true);
        let options = |from_round| TraceOptions { tracer, from_round, late_above, keep, unasked };
        Ok(plan.add_traced_part(seed).map(options))
    }
}
