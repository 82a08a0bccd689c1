//! How sure a number is.

use howlate_analyse::Outcome;

use crate::numbers::count;
use crate::result_columns::ColumnSpec;

/// What the maxima of several conditions support: what the weakest does, with its number of wake-ups.
pub fn what_the_maxima_support<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Option<String> {
    let bounds = outcomes.filter_map(|outcome| Some((outcome.bound()?, outcome.count())));
    let (bound, wakeups) = bounds.min_by_key(|(bound, _)| bound.one_in)?;
    (bound.one_in > 1).then(|| {
        format!(
            "With {} wake-ups, fewer than 1 in {} come later than the maximum (95 % sure; late ones that come together are allowed for).",
            count(wakeups),
            count(bound.one_in)
        )
    })
}

/// Why a percentile is not there, where one of these is left out for want of wake-ups.
pub(crate) fn left_out(outcomes: &[&Outcome], percentiles: &[ColumnSpec]) -> Option<String> {
    let is_missing =
        |column: &&ColumnSpec| outcomes.iter().any(|outcome| outcome.planned().count() < column.least);
    let needs = |column: &ColumnSpec| format!("{} needs {}", column.heading, count(column.least));
    let missing: Vec<String> = percentiles.iter().filter(is_missing).map(needs).collect();
    (!missing.is_empty()).then(|| format!("–: too few wake-ups: {}.", missing.join(", ")))
}
