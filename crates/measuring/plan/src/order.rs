//! The order of turns, within a plan and across joined plans.

use howlate_model::Caveat;

use crate::{Plan, PlanError, check_count, check_turns, non_empty};

/// Numbers 0 to `count`, once per round, in a new random order each round.
///
/// Sources: randomised multiple interleaved trials, Abedi & Brecht,
/// doi:10.1145/3030207.3030229.
pub(crate) fn interleaved(count: usize, rounds: u32, seed: u64) -> Vec<(usize, u32)> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut order: Vec<usize> = (0..count).collect();
    let mut turns = Vec::with_capacity(count * rounds as usize);
    for round in 0..rounds {
        random.shuffle(&mut order);
        turns.extend(order.iter().map(|&number| (number, round)));
    }
    turns
}

/// Joins plans: their turns are shuffled within each round. A plan without turns is left out with its reasons.
///
/// # Errors
///
/// If nothing can be measured at all, or a plan is invalid.
pub fn join_plans(plans: Vec<Result<Plan, PlanError>>, seed: u64) -> Result<Plan, PlanError> {
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
    // A stable sort keeps the random order within a round.
    all.turns.sort_by_key(|turn| turn.tasks.first().map(|task| task.round));
    non_empty(all)
}

fn append(all: &mut Plan, mut plan: Plan) {
    let before = u32::try_from(all.conditions.len()).unwrap_or(u32::MAX);
    plan.turns.iter_mut().flat_map(|turn| &mut turn.tasks).for_each(|task| task.condition += before);
    all.conditions.append(&mut plan.conditions);
    all.turns.append(&mut plan.turns);
    let new: Vec<Caveat> =
        plan.left_out.into_iter().filter(|caveat| !all.left_out.contains(caveat)).collect();
    all.left_out.extend(new);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_holds_everything_once() {
        let turns = interleaved(5, 4, 1);
        for round in 0..4 {
            let mut numbers: Vec<_> =
                turns.iter().filter(|turn| turn.1 == round).map(|turn| turn.0).collect();
            numbers.sort_unstable();
            assert_eq!(numbers, [0, 1, 2, 3, 4]);
        }
        assert!(turns.is_sorted_by_key(|turn| turn.1));
    }

    #[test]
    fn the_seed_decides_the_order() {
        assert_eq!(interleaved(9, 3, 42), interleaved(9, 3, 42));
        assert_ne!(interleaved(9, 3, 42), interleaved(9, 3, 43));
    }
}
