//! `howlate sleep`

use howlate_plan::{Plan, PlanError, SleepChoices};

use super::measure_and_print;
use crate::cli::{Sleep, without_repeats};
use crate::environment::Environment;
use crate::error::Error;
use crate::exit_status::Status;

pub(crate) fn run(args: &Sleep) -> Result<Status, Error> {
    let (environment, seed) = (Environment::begin()?, args.measuring.run.seed());
    let plan = plan(args, &environment, seed)?;
    measure_and_print("sleep", &args.measuring, &environment, plan, seed, args.reasons)
}

/// What is to be measured, in an order drawn with `seed`.
pub(crate) fn plan(args: &Sleep, environment: &Environment, seed: u64) -> Result<Plan, PlanError> {
    let measuring = &args.measuring;
    let choices = SleepChoices {
        circumstances: measuring.factors.circumstances(seed),
        sleepers: without_repeats(&args.call),
        lengths: without_repeats(&args.lengths),
        samples: measuring.extent.samples,
        warm_up: measuring.extent.warm_up,
        duration: measuring.extent.duration,
        rounds: args.reasons.rounds(measuring.extent.rounds),
    };
    environment.prepare(&choices.sleepers, measuring.output.printing.quiet);
    let plan = choices.plan(&environment.machine())?;
    Ok(measuring.cut(plan))
}
