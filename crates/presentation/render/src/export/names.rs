//! Titles and findings of checks, for all exports.

use howlate_analyse::{Analysis, Check, LimitVerdict, Outcome, UnknownReason};
use howlate_model::{Latency, Limit, LimitScope, LimitStatistic, Span, Work};
use jiff::Timestamp;

use crate::caveat;
use crate::condition::condition_name;
use crate::ending::why_not_whole;
use crate::numbers::{at_least, count, micros_in};

/// Title of a check: `… · CPU 0 · load idle: p99.9 at most 100us`.
pub(super) fn title(check: &Check<'_>) -> String {
    format!("{}: {}", condition_name(check.outcome), demand(check.limit))
}

/// What the limit demands.
pub(super) fn demand(limit: Option<Limit>) -> String {
    match limit {
        None => "measured as asked".to_owned(),
        Some(Limit { statistic: LimitStatistic::Missed, above, .. }) => {
            format!("missed periods at most {above}")
        }
        Some(Limit { statistic: LimitStatistic::Loop, above, .. }) => {
            format!("event loop away at most {}", Span::from_nanos(above))
        }
        Some(Limit { scope: LimitScope::Requests, statistic, above }) => {
            format!("{statistic} of requests at most {}", Span::from_nanos(above))
        }
        Some(Limit { statistic, above, .. }) => format!("{statistic} at most {}", Span::from_nanos(above)),
    }
}

/// The value and the limit, or why the limit cannot be judged.
pub fn finding(check: &Check<'_>) -> String {
    match &check.verdict {
        LimitVerdict::Unknown(reason) => reason_of(check, reason),
        LimitVerdict::Yes | LimitVerdict::No => value_and_limit(check),
    }
}

fn reason_of(check: &Check<'_>, reason: &UnknownReason) -> String {
    match reason {
        UnknownReason::Spoiled(reason) => caveat(reason),
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
        UnknownReason::TooFew { needed, count: measured } => {
            format!("needs {} wake-ups; only {} were measured", count(*needed), count(*measured))
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

/// The value and the limit; without a limit the whole result.
fn value_and_limit(check: &Check<'_>) -> String {
    let (Some(limit), Some(value)) = (check.limit, check.value) else { return numbers(check.outcome) };
    let with_unit = |value: u64| match limit.statistic {
        LimitStatistic::Missed => count(value),
        _ => Latency::from_nanos(signed(value)).to_string(),
    };
    let value = at_least(is_lower_bound(check), &with_unit(value));
    format!("{} is {value}, limit {}", limit.statistic, with_unit(limit.above))
}

/// Whether the checked value is a lower bound.
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

/// Number of planned wake-ups, which all exports count first.
pub(super) fn planned(outcome: &Outcome) -> u64 {
    outcome.planned().count()
}

/// What the numbers count.
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

/// Start time; 1970 where the header has none in RFC 3339.
pub(super) fn started_at(analysis: &Analysis) -> Timestamp {
    analysis.header.started.parse().unwrap_or(Timestamp::UNIX_EPOCH)
}
