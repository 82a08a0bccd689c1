//! How sure a number is.

use howlate_analyse::{Bound, Outcome, least_wakeups};

use crate::numbers::count;

/// What the maximum of a result is worth.
pub fn what_the_maximum_supports(bound: Option<Bound>) -> Option<String> {
    let bound = bound.filter(|bound| bound.one_in > 1)?;
    Some(format!(
        "no later than the max but for at most 1 wake-up in {} (95 %; that late ones come together is counted in)",
        count(bound.one_in)
    ))
}

/// Why a percentile is not there, where one of these is left out for want of wake-ups.
pub(crate) fn left_out(outcomes: &[&Outcome], percentiles: &[(&str, f64)]) -> Option<String> {
    let is_missing = |(_, quantile): &&(&str, f64)| {
        outcomes.iter().any(|outcome| outcome.planned().count() < least_wakeups(*quantile))
    };
    let takes = |(name, quantile): &(&str, f64)| format!("{name} takes {}", count(least_wakeups(*quantile)));
    let missing: Vec<String> = percentiles.iter().filter(is_missing).map(takes).collect();
    (!missing.is_empty())
        .then(|| format!("–: too few wake-ups for one to lie beyond it; {}.", missing.join(", ")))
}
