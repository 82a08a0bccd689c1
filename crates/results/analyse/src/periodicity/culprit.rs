//! Who takes the time of what comes back.

use std::collections::HashMap;

use howlate_model::Cause;
use schemars::JsonSchema;
use serde::Serialize;

use super::late_marks::{LateMark, LateMarks};

/// Wake-ups of the rhythm whose cause must be known.
const LEAST: usize = 3;
/// The share of them that one cause took most of.
const MOST: f64 = 0.5;

/// What took most of the late wake-ups that come back.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RecurringCause {
    /// What it was.
    #[serde(flatten)]
    pub cause: Cause,
    /// Of how many it took most.
    pub took: usize,
    /// Of how many that is known.
    pub known: usize,
}

/// The cause of those that `has` takes to be of the rhythm.
pub(super) fn of(
    latest: &[LateMark],
    marks: &LateMarks,
    has: impl Fn(&LateMark) -> bool,
) -> Option<RecurringCause> {
    let mut times: HashMap<u16, usize> = HashMap::new();
    let causes = latest.iter().filter(|mark| has(mark)).filter_map(|mark| mark.cause);
    causes.for_each(|cause| *times.entry(cause).or_default() += 1);
    let known: usize = times.values().sum();
    let (place, took) = times.into_iter().max_by_key(|(place, took)| (*took, std::cmp::Reverse(*place)))?;
    let is_it = known >= LEAST && took as f64 >= MOST * known as f64;
    let cause = marks.cause_at(place).filter(|_| is_it)?.clone();
    Some(RecurringCause { cause, took, known })
}
