//! Several plans as one.

use howlate_model::Caveat;

use crate::{Plan, PlanError, check_count, check_turns, finished};

/// All conditions of all plans, their turns mixed in random order, round by round. A plan of
/// which nothing can be measured is left out with its reasons.
///
/// # Errors
///
/// When nothing can be measured at all, or a plan makes no sense.
pub fn together(plans: Vec<Result<Plan, PlanError>>, seed: u64) -> Result<Plan, PlanError> {
    let mut all = Plan { conditions: Vec::new(), turns: Vec::new(), left_out: Vec::new() };
    for plan in plans {
        match plan {
            Ok(plan) => append(&mut all, plan),
            Err(PlanError::NothingLeft(left_out)) => all.left_out.extend(left_out),
            Err(error) => return Err(error),
        }
    }
    check_count(all.conditions.len())?;
    check_turns(all.turns.iter().map(|turn| turn.tasks.len()).sum(), 1)?;
    fastrand::Rng::with_seed(seed).shuffle(&mut all.turns);
    // Stable: within a round the order stays random.
    all.turns.sort_by_key(|turn| turn.tasks.first().map(|task| task.round));
    finished(all)
}

fn append(all: &mut Plan, mut plan: Plan) {
    let before = u32::try_from(all.conditions.len()).unwrap_or(u32::MAX);
    plan.turns.iter_mut().flat_map(|turn| &mut turn.tasks).for_each(|task| task.condition += before);
    all.conditions.append(&mut plan.conditions);
    all.turns.append(&mut plan.turns);
    let new: Vec<Caveat> = plan.left_out.into_iter().filter(|one| !all.left_out.contains(one)).collect();
    all.left_out.extend(new);
}
