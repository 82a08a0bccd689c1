//! How sure a number is.

use std::borrow::Borrow;

use howlate_analyse::Outcome;
use howlate_model::Distribution;

use crate::numbers::count;
use crate::result_columns::ColumnSpec;

/// What the maxima of several conditions support: what the weakest does.
pub fn what_the_maxima_support<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Option<String> {
    let bound = outcomes.filter_map(Outcome::bound).min_by_key(|bound| bound.one_in)?;
    (bound.one_in > 1).then(|| {
        format!(
            "A longer run may exceed the maximum: up to 1 in {} wake-ups could be later (95 % confidence, clustering included).",
            count(bound.one_in)
        )
    })
}

/// Why a percentile is not there, where one of these is left out for want of wake-ups.
pub(crate) fn left_out(outcomes: &[&Outcome], percentiles: &[ColumnSpec]) -> Option<String> {
    too_few(outcomes.iter().map(|outcome| outcome.planned()), percentiles)
}

/// The same of distributions.
pub(crate) fn too_few<D: Borrow<Distribution>>(
    all: impl IntoIterator<Item = D>,
    percentiles: &[ColumnSpec],
) -> Option<String> {
    let least = all.into_iter().map(|one| one.borrow().count()).min()?;
    let needs = |column: &ColumnSpec| format!("{} needs {}", column.heading, count(column.least));
    let missing: Vec<String> = percentiles.iter().filter(|column| least < column.least).map(needs).collect();
    (!missing.is_empty()).then(|| format!("–: too few wake-ups: {}.", missing.join(", ")))
}
