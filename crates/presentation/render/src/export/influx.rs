//! InfluxDB line protocol, also read by Telegraf and VictoriaMetrics:
//! <https://docs.influxdata.com/influxdb/v2/reference/syntax/line-protocol/>.

use howlate_analyse::{Analysis, Outcome};
use howlate_model::{HasProperties, Property};
use jiff::Timestamp;

use super::names::started_at;
use crate::result_columns::{ColumnSpec, MAX, MEDIAN, MIN, P99, P99_9};

/// Tags that only some conditions have. Without them, lines with equal tags and time would overwrite each other.
const OPTIONAL_TAGS: [(&str, Property); 8] = [
    ("node", Property::Node),
    ("name", Property::Name),
    ("knob", Property::Knob),
    ("between", Property::Between),
    ("receiver", Property::Receiver),
    ("round_trip", Property::RoundTrip),
    ("host_load", Property::HostLoad),
    ("vcpu_policy", Property::VcpuPolicy),
];

/// One line per condition: properties as tags, statistics as fields, the start as time. Fields `planned…` count all planned wake-ups, the others those that happened.
pub fn influx(analyses: &[Analysis]) -> String {
    let lines = |analysis: &Analysis| {
        // Without a time, the database uses the time of arrival.
        let at = Some(started_at(analysis)).filter(|at| *at != Timestamp::UNIX_EPOCH);
        let line = |outcome: &Outcome| line(analysis.header.command.name(), outcome, at);
        analysis.outcomes().iter().map(line).collect::<String>()
    };
    analyses.iter().map(lines).collect()
}

fn line(command: &str, outcome: &Outcome, at: Option<Timestamp>) -> String {
    let tags = tags(command, outcome).into_iter();
    let tags: String = tags.map(|(key, value)| format!(",{key}={}", escaped(&value))).collect();
    let fields: Vec<String> =
        fields(outcome).into_iter().map(|(key, value)| format!("{key}={value}i")).collect();
    let at = at.map_or_else(String::new, |at| format!(" {}", at.as_nanosecond()));
    format!("howlate{tags} {}{at}\n", fields.join(","))
}

fn tags(command: &str, outcome: &Outcome) -> Vec<(&'static str, String)> {
    let condition = &outcome.condition;
    let typed = |property: Property| property.text(condition);
    let mut tags = vec![
        ("command", command.to_owned()),
        ("mechanism", condition.work.mechanism().to_string()),
        ("length", typed(Property::Length)),
        ("policy", typed(Property::Policy)),
        ("load", typed(Property::Load)),
        ("kernel", condition.kernel.clone()),
        ("thread", condition.thread.to_string()),
    ];
    tags.extend(condition.cpu.map(|cpu| ("cpu", cpu.to_string())));
    tags.extend(
        Some(condition.clock).filter(|clock| !clock.is_monotonic()).map(|clock| ("clock", clock.to_string())),
    );
    tags.extend(condition.slack_ns.map(|slack| ("slack", slack.to_string())));
    tags.extend(condition.work.sender_cpu().map(|cpu| ("sender_cpu", cpu.to_string())));
    tags.extend(OPTIONAL_TAGS.map(|(key, property)| {
        (key, condition.value(property).map_or_else(String::new, |value| value.to_string()))
    }));
    // Empty tag values are not allowed.
    tags.retain(|(_, value)| !value.is_empty());
    tags
}

fn fields(outcome: &Outcome) -> Vec<(String, i64)> {
    let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let mut fields = Vec::new();
    if let Some(summary) = outcome.planned_summary().filter(|_| outcome.knows_planned()) {
        fields.push(("planned".to_owned(), count(outcome.planned().count())));
        let number =
            |column: ColumnSpec| (format!("planned_{}", column.name_with_unit()), column.nanos(&summary));
        fields.extend([MEDIAN, P99, P99_9, MAX].map(number));
    }
    fields.push(("count".to_owned(), count(outcome.count())));
    fields.extend(outcome.missed().map(|missed| ("missed_periods".to_owned(), count(missed))));
    if let Some(summary) = outcome.summary() {
        let number = |column: ColumnSpec| (column.name_with_unit(), column.nanos(&summary));
        fields.extend([MIN, MEDIAN, P99, P99_9, MAX].map(number));
        fields.extend(summary.clipped_at.map(|at| ("clipped_at_ns".to_owned(), at)));
    }
    fields.extend(outcome.corrected_summary().map(|summary| ("corrected_p99_ns".to_owned(), summary.p99)));
    fields
}

/// Escapes blanks, commas and equals signs; line breaks become blanks.
fn escaped(value: &str) -> String {
    value.chars().fold(String::new(), |mut text, letter| {
        match letter {
            ' ' | ',' | '=' => text.extend(['\\', letter]),
            '\n' | '\r' => text.push(' '),
            other => text.push(other),
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_separates_is_escaped() {
        assert_eq!(escaped("cmd:'a=b, c'\n"), "cmd:'a\\=b\\,\\ c' ");
    }
}
