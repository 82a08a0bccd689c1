//! `--until`: measurements that go on until a figure is known.

use howlate_plan::{CyclicChoices, Plan, PlanError, RequestedExtent};
use howlate_render::until_announcement;
use howlate_session::{ConditionShare, GoalError, SessionError};

use crate::error::Error;
use crate::terminal;
use howlate_cli::{MeasureArgs, TracingArgs};

/// The plan made by `make`. With `--until`, each condition gets a share of the time, in turns if `in_turns` or `--why` demand it.
pub(super) fn plan(
    measuring: &MeasureArgs,
    reasons: &TracingArgs,
    in_turns: bool,
    make: impl Fn(Option<ConditionShare>) -> Result<Plan, PlanError>,
) -> Result<Plan, Error> {
    let Some(goal) = measuring.until.goal() else { return Ok(make(None)?) };
    let plan = goal.plan(in_turns || reasons.why, |share| make(Some(share)).map_err(Error::from))?;
    if !measuring.output.printing.quiet {
        let least = goal.least(&make(Some(ConditionShare { duration: goal.at_most, rounds: 1 }))?)?;
        terminal::eprint(&until_announcement(goal.figure, least, goal.at_most, terminal::width()));
    }
    Ok(plan)
}

/// `choices` limited to a share of the time.
pub(super) fn limited_to_share(choices: CyclicChoices, share: Option<ConditionShare>) -> CyclicChoices {
    match share {
        Some(ConditionShare { duration, rounds }) => {
            let extent = RequestedExtent { duration: Some(duration), rounds: Some(rounds), ..choices.extent };
            CyclicChoices { extent, ..choices }
        }
        None => choices,
    }
}

impl From<GoalError> for Error {
    fn from(reason: GoalError) -> Self {
        SessionError::from(reason).into()
    }
}
