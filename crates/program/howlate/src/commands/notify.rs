//! `howlate notify`

use howlate_measure::is_allowed;
use howlate_model::{AsText, CombinationRefusal, Notifier};
use howlate_plan::{NotifyChoices, Plan, PlanError, deduplicate};

use super::{measure_and_print, until};
use crate::error::Error;
use crate::exit_status::Status;
use crate::startup;
use howlate_cli::NotifyArgs;
use howlate_session::{Environment, Share};

pub(crate) fn run(args: &NotifyArgs) -> Result<Status, Error> {
    let (environment, seed) = (startup::begin()?, args.measuring.run.seed());
    // What a turn of messages holds has room for its stamps.
    let plan =
        until::plan(&args.measuring, args.reasons, true, |share| plan_of(args, &environment, seed, share))?;
    measure_and_print("notify", &args.measuring, &environment, plan, seed, (args.reasons, None))
}

/// What is to be measured, in an order drawn with `seed`.
pub(crate) fn plan(args: &NotifyArgs, environment: &Environment, seed: u64) -> Result<Plan, PlanError> {
    plan_of(args, environment, seed, None)
}

fn plan_of(
    args: &NotifyArgs,
    environment: &Environment,
    seed: u64,
    share: Option<Share>,
) -> Result<Plan, PlanError> {
    let measuring = &args.measuring;
    let gap = args.after.iter().max().map_or(1, |gap| gap.as_nanos().max(1));
    let notifiers = args.notifiers();
    let choices = NotifyChoices {
        circumstances: measuring.factors.circumstances(seed),
        refused: notifiers.iter().filter_map(|notifier| refusal(*notifier)).collect(),
        notifiers,
        gaps: deduplicate(&args.after),
        between: args.peers(),
        receivers: args.receivers(),
        pairs: args.pairs(),
        cpus: environment.system.cpus.clone(),
        round_trip: args.round_trip,
        samples: share
            .map_or(measuring.extent.samples, |share| Some((share.duration.as_nanos() / gap).max(1))),
        warm_up: measuring.extent.warm_up,
        duration: share.map_or(measuring.extent.duration, |share| Some(share.duration)),
        rounds: share.map_or(measuring.extent.rounds, |share| Some(share.rounds)),
    };
    let plan = choices.plan(&environment.machine())?;
    Ok(measuring.with_cut_off(plan))
}

/// Why kernel or container refuse a mechanism, if they do.
fn refusal(notifier: Notifier) -> Option<(Notifier, AsText<CombinationRefusal>)> {
    let error = is_allowed(notifier).err()?;
    Some((notifier, CombinationRefusal::Refused((&error).into()).into()))
}
