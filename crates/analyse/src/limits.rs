//! Comparing results with limits.

use howlate_model::{Latency, Limit, Statistic};

use crate::Outcome;

/// The value that exceeds `limit`: nanoseconds, or a count for missed periods. `None` if it keeps it.
pub fn exceeded(outcome: &Outcome, limit: Limit) -> Option<u64> {
    value(outcome, limit.statistic).filter(|value| *value > limit.above)
}

/// What a limit is about: nanoseconds, or a count for missed periods. `None` where nothing was measured.
///
/// Periodic work is judged by its corrected numbers, so that a stall counts for every period it took.
#[allow(clippy::cast_possible_truncation, reason = "a limit is whole nanoseconds")]
pub(crate) fn value(outcome: &Outcome, statistic: Statistic) -> Option<u64> {
    let all = outcome.corrected().unwrap_or_else(|| outcome.latency().clone());
    let nanos = |latency: Option<Latency>| latency.map(|latency| latency.as_nanos().max(0).unsigned_abs());
    match statistic {
        Statistic::Max => nanos(all.max()),
        Statistic::Percentile(percent) => nanos(all.quantile(percent / 100.0)),
        Statistic::Mean => nanos(all.mean_nanos().map(|mean| Latency::from_nanos(mean as i64))),
        Statistic::Missed => Some(outcome.missed_periods()),
    }
}
