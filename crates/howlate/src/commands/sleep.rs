//! `howlate sleep`

use howlate_plan::{Plan, PlanError, SleepChoices};

use super::measure_and_print;
use crate::cli::{Sleep, without_repeats};
use crate::error::Error;
use crate::session::Surroundings;
use crate::status::Status;

pub(crate) fn run(asked: &Sleep) -> Result<Status, Error> {
    let around = Surroundings::begin()?;
    let (plan, seed) = plan(asked, &around)?;
    measure_and_print("sleep", &asked.measuring, &around, &plan, seed)
}

/// What is to be measured, and what its order was drawn with.
pub(crate) fn plan(asked: &Sleep, around: &Surroundings) -> Result<(Plan, u64), PlanError> {
    let measuring = &asked.measuring;
    let choices = SleepChoices {
        circumstances: measuring.circumstances(),
        sleepers: without_repeats(&asked.call),
        lengths: without_repeats(&asked.lengths),
        samples: measuring.samples,
        duration: measuring.duration,
        rounds: measuring.rounds,
    };
    around.prepare(&choices.sleepers, measuring.quiet);
    let plan = choices.plan(&around.machine())?;
    Ok((measuring.cut(plan), choices.circumstances.seed))
}
