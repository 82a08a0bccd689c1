//! `howlate notify`

use howlate_measure::is_allowed;
use howlate_model::{NotMeasured, Notifier, Worded};
use howlate_plan::{NotifyChoices, Plan, PlanError, without_repeats};

use super::measure_and_print;
use crate::cli::Notify;
use crate::environment;
use crate::error::Error;
use crate::exit_status::Status;
use howlate_session::Environment;

pub(crate) fn run(args: &Notify) -> Result<Status, Error> {
    let (environment, seed) = (environment::begin()?, args.measuring.run.seed());
    let plan = plan(args, &environment, seed)?;
    measure_and_print("notify", &args.measuring, &environment, plan, seed, (args.reasons, None))
}

/// What is to be measured, in an order drawn with `seed`.
pub(crate) fn plan(args: &Notify, environment: &Environment, seed: u64) -> Result<Plan, PlanError> {
    let measuring = &args.measuring;
    let notifiers = args.notifiers();
    let choices = NotifyChoices {
        circumstances: measuring.factors.circumstances(seed),
        refused: notifiers.iter().filter_map(|notifier| refusal(*notifier)).collect(),
        notifiers,
        gaps: without_repeats(&args.after),
        between: args.kinds(),
        receivers: args.receivers(),
        pairs: args.pairs(),
        cpus: environment.system.cpus.clone(),
        round_trip: args.round_trip,
        samples: measuring.extent.samples,
        warm_up: measuring.extent.warm_up,
        duration: measuring.extent.duration,
        rounds: measuring.extent.rounds,
    };
    let plan = choices.plan(&environment.machine())?;
    Ok(measuring.cut(plan))
}

/// Why kernel or container refuse a mechanism, if they do.
fn refusal(notifier: Notifier) -> Option<(Notifier, Worded<NotMeasured>)> {
    let error = is_allowed(notifier).err()?;
    Some((notifier, NotMeasured::Refused((&error).into()).into()))
}
