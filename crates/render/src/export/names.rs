//! What exports call checks, and what they say of them.

use howlate_analyse::{Check, LimitVerdict, Outcome, Unknown};
use howlate_model::{Limit, Span, Statistic};

use crate::caveat;
use crate::condition::condition_name;
use crate::numbers::micros;

/// What a check is about, for people: `… · CPU 0 · load idle: p99.9 at most 100us`.
pub(super) fn title(check: &Check<'_>) -> String {
    format!("{}: {}", condition_name(check.outcome), demand(check.limit))
}

/// What is demanded of a condition.
pub(super) fn demand(limit: Option<Limit>) -> String {
    match limit {
        None => "measured as asked".to_owned(),
        Some(Limit { statistic: Statistic::Missed, above }) => format!("missed periods at most {above}"),
        Some(Limit { statistic, above }) => format!("{statistic} at most {}", Span::from_nanos(above)),
    }
}

/// What was found, in a few words; the reason where it is not known whether a limit is kept.
pub(super) fn finding(check: &Check<'_>) -> String {
    match &check.kept {
        LimitVerdict::Unknown(reason) => reason_of(reason),
        LimitVerdict::Yes | LimitVerdict::No => found(check),
    }
}

fn reason_of(reason: &Unknown) -> String {
    match reason {
        Unknown::Spoiled(one) => caveat(one),
        Unknown::NotSaid => "another program does not say how many periods were missed".to_owned(),
        Unknown::NotMeasured => "nothing was measured".to_owned(),
        Unknown::TooFew { needed, count } => format!("needs {needed} wake-ups; only {count} were measured"),
    }
}

/// The value that the limit is about; the whole result where there is no limit.
fn found(check: &Check<'_>) -> String {
    match (check.limit.map(|limit| limit.statistic), check.value) {
        (Some(Statistic::Missed), Some(count)) => format!("{count} missed"),
        (Some(statistic), Some(nanos)) => format!("{statistic} is {} µs", micros(signed(nanos))),
        _ => numbers(check.outcome),
    }
}

/// The result in one line.
pub(super) fn numbers(outcome: &Outcome) -> String {
    let Some(summary) = outcome.planned_summary() else {
        return "nothing was measured".to_owned();
    };
    let missed =
        outcome.known_missed().map_or_else(String::new, |missed| format!(", {missed} periods missed"));
    format!(
        "n = {}, median {} µs, p99 {} µs, max {} µs{missed}",
        outcome.count(),
        micros(summary.p50),
        micros(summary.p99),
        micros(summary.max)
    )
}

fn signed(nanos: u64) -> i64 {
    i64::try_from(nanos).unwrap_or(i64::MAX)
}
