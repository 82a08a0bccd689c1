//! A measurement whose turns depend on what the turns before them have shown.

use howlate_analyse::compare::Track;
use howlate_measure::Process;
use howlate_model::{Condition, Engine, HowEnded, Line, Turn};
use howlate_plan::Plan;

use super::engines::Engines;
use super::{Request, Session, Turning, bounds, check_loads};
use crate::environment::Environment;
use crate::error::Error;
use crate::recorder::header;

/// Turns to take next.
pub(crate) struct Step {
    /// Conditions that were not known before; turns refer to them by the indices that follow.
    pub(crate) conditions: Vec<Condition>,
    pub(crate) turns: Vec<Turn>,
}

/// Whoever decides what is measured next.
pub(crate) trait Steps {
    /// The next turns, now that so much is known; `None` when nothing more is to be measured.
    fn next(&mut self, track: &Track) -> Option<Step>;
    /// No more turns can be taken: what is known is all that there will be.
    fn ended(&mut self, track: &Track);
}

/// Measures step by step, beginning with the conditions of `plan`, whose turns are not taken by themselves. `turning` is there
/// where settings of the machine may be tried, `engine` where turns are none of howlate's own threads.
pub(crate) fn measure_in_steps(
    request: &Request<'_>,
    environment: &Environment,
    plan: &Plan,
    steps: &mut impl Steps,
    turning: Option<Turning>,
    engine: Option<Box<dyn Engine + '_>>,
) -> Result<Track, Error> {
    check_loads(plan)?;
    let mut header = header(request.command, request.seed, environment, plan.conditions.clone());
    header.node = request.identity.of(header.node);
    let recorder = request.recorder::<Track>(header, environment)?;
    let mut session = Session::begin(recorder, request.quiet);
    session.loads.go_on = turning.is_none();
    session.turning = turning;
    session.display.add(&plan.conditions, &[]);
    let process = Process::prepare(request.dma_latency_us);
    session.knows(&[], environment, plan, &plan.turns, &process);
    let bounds = bounds(request, environment, &process);
    let mut engines = Engines::after(engine, &environment.probes);
    let mut how = HowEnded::Done;
    while how == HowEnded::Done {
        let Some(step) = steps.next(session.recorder.intake()) else { break };
        session.display.add(&step.conditions, &step.turns);
        let lines = step.conditions.into_iter().map(|condition| Line::Condition(Box::new(condition)));
        lines.for_each(|line| session.recorder.keep(&line));
        how = session.take_turns(&step.turns, &mut engines, &bounds)?;
    }
    if how != HowEnded::Done {
        steps.ended(session.recorder.intake());
    }
    Ok(session.end(how, environment))
}
