//! What exports call checks, and what they say of them.

use howlate_analyse::{Check, LimitVerdict, Outcome, Unknown};
use howlate_model::{Latency, Limit, Span, Statistic};

use crate::caveat;
use crate::condition::condition_name;
use crate::numbers::{at_least, micros, micros_in};

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
        Unknown::Clipped(from) => format!(
            "the program that measured it does not resolve latencies above {}",
            Latency::from_nanos(signed(*from))
        ),
        Unknown::NotMeasured => "nothing was measured".to_owned(),
        Unknown::TooFew { needed, count } => format!("needs {needed} wake-ups; only {count} were measured"),
    }
}

/// The value that the limit is about; the whole result where there is no limit.
fn found(check: &Check<'_>) -> String {
    match (check.limit.map(|limit| limit.statistic), check.value) {
        (Some(Statistic::Missed), Some(count)) => format!("{count} missed"),
        (Some(statistic), Some(nanos)) => {
            let is_lower_bound =
                check.outcome.planned().clipped() == Some(Latency::from_nanos(signed(nanos)));
            format!("{statistic} is {} µs", at_least(is_lower_bound, &micros(signed(nanos))))
        }
        _ => numbers(check.outcome),
    }
}

/// The result in one line.
pub(super) fn numbers(outcome: &Outcome) -> String {
    let Some(summary) = outcome.planned_summary() else {
        return "nothing was measured".to_owned();
    };
    let missed =
        outcome.known_missed().map_or_else(String::new, |missed| format!(", {missed} of them missed"));
    let [p50, p99, max] = [summary.p50, summary.p99, summary.max].map(|nanos| micros_in(&summary, nanos));
    format!(
        "n = {} {}{missed}: median {p50} µs, p99 {p99} µs, max {max} µs",
        planned(outcome),
        counted(outcome)
    )
}

/// How many the numbers are of: what a person reads first counts every planned wake-up, in every export.
pub(super) fn planned(outcome: &Outcome) -> u64 {
    outcome.planned().count()
}

/// What the numbers are of, in words.
fn counted(outcome: &Outcome) -> &'static str {
    if outcome.knows_what_was_planned() && outcome.condition.work.period().is_some() {
        "planned wake-ups"
    } else {
        "wake-ups"
    }
}

fn signed(nanos: u64) -> i64 {
    i64::try_from(nanos).unwrap_or(i64::MAX)
}
