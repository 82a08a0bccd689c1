//! `howlate notify`: measures how late messages between threads arrive.

use howlate_measure::is_allowed;
use howlate_model::{AsText, CombinationRefusal, Notifier};
use howlate_plan::{NotifyChoices, Plan, PlanError, RequestedExtent, deduplicate};

use super::{measure_and_print, until};
use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::startup;
use howlate_cli::NotifyArgs;
use howlate_session::{ConditionShare, Environment};

pub(crate) fn run(args: &NotifyArgs) -> Result<ExitStatus, Error> {
    let (environment, seed) = (startup::begin()?, args.measuring.run.seed());
    // In turns, so that the memory for time stamps is bounded.
    let plan = until::plan(&args.measuring, &args.reasons, true, |share| {
        plan_for_share(args, &environment, seed, share)
    })?;
    measure_and_print("notify", &args.measuring, &environment, plan, seed, (&args.reasons, None))
}

/// The plan of the options, its order determined by `seed`.
pub(crate) fn plan(args: &NotifyArgs, environment: &Environment, seed: u64) -> Result<Plan, PlanError> {
    plan_for_share(args, environment, seed, None)
}

fn plan_for_share(
    args: &NotifyArgs,
    environment: &Environment,
    seed: u64,
    share: Option<ConditionShare>,
) -> Result<Plan, PlanError> {
    let measuring = &args.measuring;
    let gap = args.after.iter().max().map_or(1, |gap| gap.as_nanos().max(1));
    let (notifiers, extent) = (args.notifiers(), measuring.extent.requested());
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
        extent: match share {
            None => extent,
            Some(ConditionShare { duration, rounds }) => RequestedExtent {
                samples: Some((duration.as_nanos() / gap).max(1)),
                duration: Some(duration),
                rounds: Some(rounds),
                ..extent
            },
        },
    };
    let plan = choices.plan(&environment.machine())?;
    Ok(measuring.with_cut_off(plan))
}

/// Why the kernel or a container refuses a mechanism; `None` where it does not.
fn refusal(notifier: Notifier) -> Option<(Notifier, AsText<CombinationRefusal>)> {
    let error = is_allowed(notifier).err()?;
    Some((notifier, CombinationRefusal::Refused((&error).into()).into()))
}
