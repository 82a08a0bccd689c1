//! Measuring step by step.

use howlate_analyse::compare::Track;
use howlate_measure::Process;
use howlate_model::{EndReason, Engine, Line};
use howlate_plan::Plan;

use crate::adaptive::Steps;
use crate::engines::Engines;
use crate::environment::Environment;
use crate::error::SessionError;
use crate::request::Request;
use crate::resume::{BegunInSteps, Resume};
use crate::session::{Session, bounds, check_loads};
use crate::turn_settings::Turning;

/// Who else has a part in the turns.
#[derive(Default)]
pub struct Parts<'a> {
    /// Turns settings of the machine, where any may be tried.
    pub turning: Option<Turning>,
    /// Takes the turns, where they are none of howlate's own threads.
    pub engine: Option<Box<dyn Engine + 'a>>,
}

/// Measures step by step, beginning with the conditions of `plan`, whose turns are not taken by themselves, or where an interrupted
/// run stopped.
///
/// # Errors
///
/// When nothing could be measured.
pub fn measure_in_steps(
    request: Request<'_>,
    environment: &Environment,
    plan: &Plan,
    steps: &mut impl Steps,
    parts: Parts<'_>,
    resume: Resume,
) -> Result<Track, SessionError> {
    check_loads(plan)?;
    let BegunInSteps { recorder, step } = resume.begin_in_steps(&request, environment, plan, steps)?;
    let process = Process::prepare(request.dma_latency_us);
    let bounds = bounds(&request, environment, &process);
    let mut session = Session::begin(recorder, request.screen);
    session.loads.go_on = parts.turning.is_none();
    session.turning = parts.turning;
    session.display.add(&plan.conditions, &[]);
    session.knows(&[], environment, plan, &plan.turns, &process);
    let mut engines = Engines::after(parts.engine, &environment.probes);
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
