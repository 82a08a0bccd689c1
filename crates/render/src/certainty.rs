//! How sure a number is.

use howlate_analyse::{Outcome, exceeded_at_most, least_wakeups};

use crate::numbers::count;

/// What the maximum of a result is worth.
pub fn what_the_maximum_supports(n: u64) -> Option<String> {
    let one_in = exceeded_at_most(n).filter(|_| n >= 20)?;
    Some(format!(
        "no later than the max but for at most 1 wake-up in {} (95 %, if they are independent)",
        count(one_in)
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
