//! `howlate sleep`: measures how late single sleeps end.

use howlate_linux::dma_latency::DmaLatency;
use howlate_plan::{Plan, PlanError, RequestedExtent, SleepChoices, StepChoices, deduplicate};

use super::{measure_and_print, until};
use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::startup;
use crate::terminal;
use howlate_cli::SleepArgs;
use howlate_session::{ConditionShare, Environment};

pub(crate) fn run(args: &SleepArgs) -> Result<ExitStatus, Error> {
    let (environment, seed) = (startup::begin()?, args.measuring.run.seed());
    let plan = until::plan(&args.measuring, &args.reasons, false, |share| {
        plan_for_share(args, &environment, seed, share)
    })?;
    measure_and_print("sleep", &args.measuring, &environment, plan, seed, (&args.reasons, None))
}

/// The plan of the options, its order determined by `seed`.
pub(crate) fn plan(args: &SleepArgs, environment: &Environment, seed: u64) -> Result<Plan, PlanError> {
    plan_for_share(args, environment, seed, None)
}

fn plan_for_share(
    args: &SleepArgs,
    environment: &Environment,
    seed: u64,
    share: Option<ConditionShare>,
) -> Result<Plan, PlanError> {
    let measuring = &args.measuring;
    if args.steps {
        return Ok(measuring.with_cut_off(steps(args, seed).plan(&environment.machine())?));
    }
    let extent = measuring.extent.requested();
    let choices = SleepChoices {
        circumstances: measuring.factors.circumstances(seed),
        sleepers: deduplicate(&args.calls()),
        clocks: deduplicate(&args.clock.clocks),
        lengths: deduplicate(&args.lengths()),
        extent: RequestedExtent {
            duration: share.map_or(extent.duration, |share| Some(share.duration)),
            rounds: share.map_or(args.reasons.rounds(extent.rounds), |share| Some(share.rounds)),
            ..extent
        },
    };
    let mut screen = terminal::screen(measuring.output.printing.quiet);
    environment.prepare(&choices.sleepers, |doing| screen.iter_mut().for_each(|screen| screen.show(doing)));
    screen.iter_mut().for_each(|screen| screen.clear());
    let plan = choices.plan(&environment.machine())?;
    Ok(measuring.with_cut_off(plan))
}

/// `--steps`: a sweep over lengths with its control conditions; tests first whether the limit on idle states can be set.
fn steps(args: &SleepArgs, seed: u64) -> StepChoices {
    let measuring = &args.measuring;
    let circumstances = measuring.factors.circumstances(seed);
    StepChoices {
        policies: circumstances.policies,
        slacks: circumstances.slacks,
        sleepers: deduplicate(&args.calls()),
        clocks: deduplicate(&args.clock.clocks),
        cpus: circumstances.cpus,
        extent: measuring.extent.requested(),
        seed,
        dma_latency_refused: DmaLatency::hold(0).err().map(Into::into),
    }
}
