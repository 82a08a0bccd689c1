//! `howlate cyclic`: measures how late periodic threads wake up.

use howlate_model::Span;
use howlate_plan::{CyclicChoices, Plan, PlanError, RequestedExtent, deduplicate};

use super::{measure_and_print, until};
use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::startup;
use howlate_cli::CyclicArgs;
use howlate_session::Environment;

/// Time per condition without options.
const DURATION: Span = Span::from_secs(10);

pub(crate) fn run(args: &CyclicArgs) -> Result<ExitStatus, Error> {
    let (environment, seed) = (startup::begin()?, args.measuring.run.seed());
    let plan = until::plan(&args.measuring, &args.reasons, false, |share| {
        Ok(args
            .measuring
            .with_cut_off(until::limited_to_share(choices(args, seed), share).plan(&environment.machine())?))
    })?;
    measure_and_print("cyclic", &args.measuring, &environment, plan, seed, (&args.reasons, args.by))
}

/// The plan of the options, its order determined by `seed`.
pub(crate) fn plan(args: &CyclicArgs, environment: &Environment, seed: u64) -> Result<Plan, PlanError> {
    let plan = choices(args, seed).plan(&environment.machine())?;
    Ok(args.measuring.with_cut_off(plan))
}

pub(crate) fn choices(args: &CyclicArgs, seed: u64) -> CyclicChoices {
    let measuring = &args.measuring;
    let extent = measuring.extent.requested();
    CyclicChoices {
        circumstances: measuring.factors.circumstances(seed),
        mechanisms: deduplicate(&args.call),
        clocks: deduplicate(&args.clock.clocks),
        periods: deduplicate(&args.period),
        threads: args.threads.0,
        distance: args.distance,
        staircase: args.staircase,
        aligned: args.aligned,
        dithered: args.dither,
        extent: RequestedExtent {
            duration: extent.duration.or(extent.samples.is_none().then_some(DURATION)),
            rounds: args.reasons.rounds(extent.rounds),
            ..extent
        },
    }
}
