//! Results as CSV: one row per condition, or one per sleep.

use std::io;

use csv::Writer;
use howlate_analyse::{Analysis, Outcome, Summary};
use howlate_model::{Condition, HasProperties, Property, Work};

use crate::result_columns::ALL;

/// Headings before those of the result's columns, and after them.
/// Numbers of every planned wake-up come first, as people read them first; those without `planned` are of the wake-ups that
/// happened.
const BEFORE: [&str; 18] = [
    "recording",
    "kind",
    "mechanism",
    "length_ns",
    "policy",
    "slack_ns",
    "cpu",
    "thread",
    "load",
    "kernel",
    "planned",
    "planned_p50_ns",
    "planned_p99_ns",
    "planned_p99.9_ns",
    "planned_max_ns",
    "count",
    "missed_periods",
    "unfinished",
];
const AFTER: [&str; 20] = [
    "corrected_p99_ns",
    "elapsed_ns",
    "user_ns",
    "system_ns",
    "between",
    "sender_cpu",
    "placement",
    "receiver",
    "round_trip",
    "send_p50_ns",
    "messages_lost",
    "messages_duplicated",
    "messages_reordered",
    "host_load",
    "vcpu_policy",
    "node",
    "name",
    "knob",
    "clipped_at_ns",
    "clock",
];

/// One row per condition of each recording; `names` are the recordings' file names.
pub fn csv<'a>(analyses: impl IntoIterator<Item = &'a Analysis>, names: &[String]) -> io::Result<String> {
    let mut out = Writer::from_writer(Vec::new());
    let numbers = ALL.map(|column| column.name_with_unit());
    out.write_record(BEFORE.into_iter().chain(numbers.iter().map(String::as_str)).chain(AFTER))?;
    for (analysis, name) in analyses.into_iter().zip(names) {
        for outcome in analysis.outcomes() {
            out.write_record(row(outcome, name))?;
        }
    }
    text(out)
}

fn text(out: Writer<Vec<u8>>) -> io::Result<String> {
    let bytes = out.into_inner().map_err(|error| io::Error::other(error.to_string()))?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

fn optional(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Nanoseconds that one wake-up takes when nothing is late, where that is known.
fn length_of(condition: &Condition) -> Option<u64> {
    Property::Length.value_in(condition).map(|_| condition.work.length().as_nanos())
}

fn row(outcome: &Outcome, name: &str) -> Vec<String> {
    let condition = &outcome.condition;
    let summary = outcome.summary();
    let mut cells = vec![
        name.to_owned(),
        condition.work.kind().name().to_owned(),
        condition.work.mechanism().to_string(),
        optional(length_of(condition)),
        Property::Policy.text(condition),
        optional(condition.slack_ns.map(howlate_model::Span::as_nanos)),
        optional(condition.cpu),
        condition.thread.to_string(),
        Property::Load.text(condition),
        condition.kernel.clone(),
    ];
    cells.extend(planned(outcome));
    cells.extend([outcome.count().to_string(), optional(outcome.missed()), outcome.unfinished.to_string()]);
    cells.extend(ALL.map(|column| optional(summary.as_ref().map(|summary| column.value(summary)))));
    cells.extend([
        optional(outcome.corrected_summary().map(|summary| summary.p99)),
        outcome.usage.elapsed.as_nanos().to_string(),
        outcome.usage.user.as_nanos().to_string(),
        outcome.usage.system.as_nanos().to_string(),
    ]);
    cells.extend(notification(outcome));
    let on_host = condition.on_host.as_ref();
    cells.push(optional(on_host.map(|on_host| &on_host.load)));
    cells.push(optional(on_host.and_then(|on_host| on_host.vcpu_policy.as_ref())));
    let told_apart_by = [Property::Node, Property::Name, Property::Knob];
    cells.extend(told_apart_by.map(|property| optional(condition.value(property))));
    cells.push(optional(summary.and_then(|summary| summary.clipped_at)));
    cells.push(optional(condition.value(Property::Clock)));
    cells
}

/// The cells of every planned wake-up: how many, and the numbers that people read first.
fn planned(outcome: &Outcome) -> [String; 5] {
    if !outcome.knows_planned() {
        return Default::default();
    }
    let (planned, summary) = (outcome.planned().count(), outcome.planned_summary());
    let number = |of: fn(&Summary) -> i64| optional(summary.as_ref().map(of));
    [
        planned.to_string(),
        number(|one| one.p50),
        number(|one| one.p99),
        number(|one| one.p99_9),
        number(|one| one.max),
    ]
}

/// The cells that only notification has; empty for everything else.
fn notification(outcome: &Outcome) -> [String; 9] {
    let Work::Notify { between, sender_cpu, placement, receiver, round_trip, .. } = outcome.condition.work
    else {
        return Default::default();
    };
    let irregular = outcome.irregular();
    [
        between.name().to_owned(),
        optional(sender_cpu),
        optional(placement),
        receiver.name().to_owned(),
        round_trip.to_string(),
        optional(outcome.send_summary().map(|summary| summary.p50)),
        irregular.messages_lost.to_string(),
        irregular.messages_duplicated.to_string(),
        irregular.messages_reordered.to_string(),
    ]
}

/// One row per sleep, in the order in which they happened: how long it took, and the time
/// since the wake-up before it (empty for the first of each turn).
pub fn intervals_csv(analyses: &[Analysis], names: &[String]) -> io::Result<String> {
    let mut out = Writer::from_writer(Vec::new());
    out.write_record([
        "recording",
        "mechanism",
        "length_ns",
        "policy",
        "cpu",
        "load",
        "round",
        "number",
        "took_ns",
        "interval_ns",
    ])?;
    for (analysis, name) in analyses.iter().zip(names) {
        for outcome in analysis.outcomes() {
            intervals(outcome, name, &mut out)?;
        }
    }
    text(out)
}

fn intervals(outcome: &Outcome, name: &str, out: &mut Writer<Vec<u8>>) -> io::Result<()> {
    let condition = &outcome.condition;
    let length = condition.work.length().as_nanos();
    for (round, points) in outcome.series().iter().enumerate() {
        let mut before = None;
        for (number, point) in points.iter().enumerate() {
            let ran = point.0 + point.1.as_nanos();
            let interval = before.map(|before: i64| ran - before);
            before = Some(ran);
            out.write_record([
                name,
                condition.work.mechanism().name(),
                &length.to_string(),
                &condition.policy.to_string(),
                &optional(condition.cpu),
                &condition.load.to_string(),
                &round.to_string(),
                &number.to_string(),
                &(i128::from(length) + i128::from(point.1.as_nanos())).to_string(),
                &optional(interval),
            ])?;
        }
    }
    Ok(())
}
