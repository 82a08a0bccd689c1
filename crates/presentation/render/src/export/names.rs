//! What exports call checks, and what they say of them.

use howlate_analyse::{Check, LimitVerdict, Outcome, UnknownReason};
use howlate_model::{Latency, Limit, LimitStatistic, Span, Work};

use crate::caveat;
use crate::condition::condition_name;
use crate::ending::why_not_whole;
use crate::numbers::{at_least, count, micros_in};

/// What a check is about, for people: `… · CPU 0 · load idle: p99.9 at most 100us`.
pub(super) fn title(check: &Check<'_>) -> String {
    format!("{}: {}", condition_name(check.outcome), demand(check.limit))
}

/// What is demanded of a condition.
pub(super) fn demand(limit: Option<Limit>) -> String {
    match limit {
        None => "measured as asked".to_owned(),
        Some(Limit { statistic: LimitStatistic::Missed, above }) => format!("missed periods at most {above}"),
        Some(Limit { statistic: LimitStatistic::Loop, above }) => {
            format!("event loop away at most {}", Span::from_nanos(above))
        }
        Some(Limit { statistic, above }) => format!("{statistic} at most {}", Span::from_nanos(above)),
    }
}

/// What was found, in a few words: the value and its limit, or the reason why it is not known whether that is kept.
pub fn finding(check: &Check<'_>) -> String {
    match &check.verdict {
        LimitVerdict::Unknown(reason) => reason_of(check, reason),
        LimitVerdict::Yes | LimitVerdict::No => found(check),
    }
}

fn reason_of(check: &Check<'_>, reason: &UnknownReason) -> String {
    match reason {
        UnknownReason::Spoiled(one) => caveat(one),
        UnknownReason::NotWhole(how) => why_not_whole(*how),
        UnknownReason::NotRecorded => not_said(check).to_owned(),
        UnknownReason::Clipped(from) => format!(
            "the program that measured it does not resolve latencies above {}",
            Latency::from_nanos(signed(*from))
        ),
        UnknownReason::TooCoarse { least, most } => format!(
            "the file only says that it is between {} and {}",
            Latency::from_nanos(signed(*least)),
            Latency::from_nanos(signed(*most))
        ),
        UnknownReason::NotMeasured => "nothing was measured".to_owned(),
        UnknownReason::TooFew { needed, count: found } => {
            format!("needs {} wake-ups; only {} were measured", count(*needed), count(*found))
        }
    }
}

fn not_said(check: &Check<'_>) -> &'static str {
    let is_of_loops = check.limit.is_some_and(|limit| limit.statistic == LimitStatistic::Loop);
    match check.outcome.condition.work {
        _ if is_of_loops => "no event loop was seen",
        Work::Watch { .. } => "without a strict rhythm no period can be missed",
        _ => "another program does not say how many periods were missed",
    }
}

/// The value that the limit is about, and the limit; the whole result where there is no limit.
fn found(check: &Check<'_>) -> String {
    let (Some(limit), Some(value)) = (check.limit, check.value) else { return numbers(check.outcome) };
    let in_words = |value: u64| match limit.statistic {
        LimitStatistic::Missed => count(value),
        _ => Latency::from_nanos(signed(value)).to_string(),
    };
    let value = at_least(is_lower_bound(check), &in_words(value));
    format!("{} is {value}, limit {}", limit.statistic, in_words(limit.above))
}

/// Whether the value that the limit is about is only known to be that or more.
pub(super) fn is_lower_bound(check: &Check<'_>) -> bool {
    let of_wakeups =
        |limit: &Limit| !matches!(limit.statistic, LimitStatistic::Missed | LimitStatistic::Loop);
    let value = check.limit.as_ref().filter(|limit| of_wakeups(limit)).and(check.value);
    value.is_some_and(|value| check.outcome.planned().clipped() == Some(Latency::from_nanos(signed(value))))
}

/// The result in one line.
pub(super) fn numbers(outcome: &Outcome) -> String {
    let Some(summary) = outcome.planned_summary() else {
        return "nothing was measured".to_owned();
    };
    let missed = outcome.missed().map_or_else(String::new, |missed| format!(", {missed} of them missed"));
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
    if outcome.knows_planned() && outcome.condition.work.period().is_some() {
        "planned wake-ups"
    } else {
        "wake-ups"
    }
}

fn signed(nanos: u64) -> i64 {
    i64::try_from(nanos).unwrap_or(i64::MAX)
}
