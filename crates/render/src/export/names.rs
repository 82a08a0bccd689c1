//! Names of conditions and checks that every reader takes.

use howlate_analyse::{Analysis, Check, LimitVerdict, Outcome, Unknown};
use howlate_model::{Condition, Limit, Property, Span, Statistic};

use crate::caveat;
use crate::condition::condition_name;
use crate::numbers::micros;
use crate::property::varying;

/// Each condition in one word of letters, digits and `._:%+-`, as tags, identifiers and paths need it. To those that would
/// be called the same is added what tells them apart: the machine, the slack, what was tuned; a number where nothing does.
pub(super) fn tags(analysis: &Analysis) -> Vec<String> {
    let conditions: Vec<&Condition> = analysis.outcomes().iter().map(|outcome| &outcome.condition).collect();
    let short: Vec<String> = conditions.iter().map(|one| tag(one)).collect();
    let mut tags: Vec<String> = Vec::new();
    for (condition, tag) in conditions.iter().zip(&short) {
        let alike = conditions.iter().zip(&short).filter(|(_, other)| *other == tag);
        let alike: Vec<&Condition> = alike.map(|(one, _)| *one).collect();
        let apart = varying(&alike).into_iter().map(|property| property.typed(*condition));
        let long = std::iter::once(tag.clone()).chain(apart.filter(|part| !part.is_empty()));
        let one = in_one_word(&long.collect::<Vec<_>>().join("-"));
        let before = tags.iter().filter(|other| **other == one || other.starts_with(&format!("{one}.")));
        let again = before.count();
        tags.push(if again == 0 { one } else { format!("{one}.{}", again + 1) });
    }
    tags
}

/// What most conditions are told apart by.
fn tag(condition: &Condition) -> String {
    let known = [Property::Mechanism, Property::Length, Property::Policy, Property::Load];
    let mut parts: Vec<String> = known.iter().map(|property| property.typed(condition)).collect();
    parts.retain(|part| !part.is_empty());
    parts.extend(condition.work.sender_cpu().map(|cpu| format!("from{cpu}")));
    parts.extend(condition.cpu.map(|cpu| format!("cpu{cpu}")));
    parts.push(format!("thread{}", condition.thread));
    in_one_word(&parts.join("-"))
}

fn in_one_word(text: &str) -> String {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "._:%+-".contains(letter);
    text.chars().map(|letter| if fits(letter) { letter } else { '_' }).collect()
}

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
