//! Runs adaptive measurements.

use howlate_analyse::compare::Track;
use howlate_measure::ProcessSetup;
use howlate_model::{EndReason, Engine, Line};
use howlate_plan::Plan;

use crate::adaptive::AdaptivePlan;
use crate::engines::Engines;
use crate::environment::Environment;
use crate::error::SessionError;
use crate::request::Request;
use crate::resume::{Resume, StartedAdaptiveSession};
use crate::session::{Session, bounds, check_loads};
use crate::turn_settings::TurnSettings;

/// Optional parts of an adaptive measurement.
#[derive(Default)]
pub struct AdaptiveParts<'a> {
    /// Applies machine settings, if any are tried.
    pub turn_settings: Option<TurnSettings>,
    /// Engine for turns that are not run by howlate's own threads.
    pub engine: Option<Box<dyn Engine + 'a>>,
}

/// Runs the steps that `steps` decides on, starting with the conditions of `plan` or where an interrupted run stopped. The turns
/// of `plan` itself are not run.
///
/// # Errors
///
/// When nothing was measured.
pub fn measure_in_steps(
    request: Request<'_>,
    environment: &Environment,
    plan: &Plan,
    steps: &mut impl AdaptivePlan,
    parts: AdaptiveParts<'_>,
    resume: Resume,
) -> Result<Track, SessionError> {
    check_loads(plan)?;
    let StartedAdaptiveSession { recorder, step } =
        resume.begin_in_steps(&request, environment, plan, steps)?;
    let process = ProcessSetup::prepare(request.dma_latency_us);
    let bounds = bounds(&request, environment, &process);
    let mut session = Session::begin(recorder, request.screen);
    session.loads.reuse_running = parts.turn_settings.is_none();
    session.turn_settings = parts.turn_settings;
    session.display.add(&plan.conditions, &[]);
    session.record_known_caveats(&[], environment, plan, &plan.turns, &process);
    let mut engines = Engines::with_first(parts.engine, &environment.probes);
    let (mut how, mut next) = (EndReason::Done, step);
    while let Some(step) = next {
        session.display.stage_begins(steps.stage());
        session.display.add(&step.conditions, &step.turns);
        let lines = step.conditions.into_iter().map(|condition| Line::Condition(Box::new(condition)));
        lines.for_each(|line| session.recorder.keep(&line));
        how = session.take_turns(&step.turns, &mut engines, &bounds)?;
        next = if how == EndReason::Done { steps.next(session.recorder.intake()) } else { None };
    }
    if how != EndReason::Done {
        steps.ended(session.recorder.intake());
    }
    Ok(session.end(how, environment))
}
