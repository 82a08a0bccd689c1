//! `howlate cyclic`

use howlate_model::Span;
use howlate_plan::{CyclicChoices, Plan, PlanError};

use super::measure_and_print;
use crate::cli::Cyclic;
use crate::cli::without_repeats;
use crate::error::Error;
use crate::session::Surroundings;
use crate::status::Status;

/// Time per condition where nothing else was asked for.
const DURATION: Span = Span::from_secs(10);

pub(crate) fn run(asked: &Cyclic) -> Result<Status, Error> {
    let around = Surroundings::begin()?;
    let (plan, seed) = plan(asked, &around)?;
    measure_and_print("cyclic", &asked.measuring, &around, &plan, seed)
}

/// What is to be measured, and what its order was drawn with.
pub(crate) fn plan(asked: &Cyclic, around: &Surroundings) -> Result<(Plan, u64), PlanError> {
    let choices = choices(asked);
    let plan = choices.plan(&around.machine())?;
    Ok((asked.measuring.cut(plan), choices.circumstances.seed))
}

/// What was typed, as choices of a plan.
pub(crate) fn choices(asked: &Cyclic) -> CyclicChoices {
    let measuring = &asked.measuring;
    CyclicChoices {
        circumstances: measuring.circumstances(),
        mechanisms: without_repeats(&asked.call),
        periods: without_repeats(&asked.period),
        threads: asked.threads.0,
        distance: asked.distance,
        staircase: asked.staircase,
        aligned: asked.aligned,
        samples: measuring.samples,
        duration: measuring.duration.or(measuring.samples.is_none().then_some(DURATION)),
        rounds: measuring.rounds,
    }
}
