//! Results as CSV: one row per condition, or one per sleep.

use std::io;

use csv::Writer;
use howlate_analyse::{Analysis, Outcome, Summary};
use howlate_model::{Condition, HasProperties, Peers, Placement, Property, ReceiverCpu, Span, Work};

use crate::result_columns::ALL;

/// The outcome of a condition, with its statistics.
struct CsvRow<'a> {
    recording: &'a str,
    outcome: &'a Outcome,
    condition: &'a Condition,
    /// Of the wake-ups that happened.
    summary: Option<Summary>,
    /// Number and statistics of all planned wake-ups; `None` where an imported file does not say how many were missed.
    planned: Option<(u64, Option<Summary>)>,
}

/// Properties of notifications.
struct Exchange {
    between: Peers,
    sender_cpu: Option<u32>,
    placement: Option<Placement>,
    receiver: ReceiverCpu,
    round_trip: bool,
}

/// Name of a column, and its cell.
type CsvColumn = (&'static str, fn(&CsvRow<'_>) -> String);

/// The columns before the statistics. Those of all planned wake-ups come first; names without `planned` mean the wake-ups that
/// happened.
const BEFORE: [CsvColumn; 18] = [
    ("recording", |row| row.recording.to_owned()),
    ("kind", |row| row.condition.work.kind().name().to_owned()),
    ("mechanism", |row| row.condition.work.mechanism().to_string()),
    ("length_ns", |row| optional(length_of(row.condition))),
    ("policy", |row| Property::Policy.text(row.condition)),
    ("slack_ns", |row| optional(row.condition.slack_ns.map(Span::as_nanos))),
    ("cpu", |row| optional(row.condition.cpu)),
    ("thread", |row| row.condition.thread.to_string()),
    ("load", |row| Property::Load.text(row.condition)),
    ("kernel", |row| row.condition.kernel.clone()),
    ("planned", |row| optional(row.planned.as_ref().map(|(count, _)| count))),
    ("planned_p50_ns", |row| row.planned_value(|summary| summary.p50)),
    ("planned_p99_ns", |row| row.planned_value(|summary| summary.p99)),
    ("planned_p99.9_ns", |row| row.planned_value(|summary| summary.p99_9)),
    ("planned_max_ns", |row| row.planned_value(|summary| summary.max)),
    ("count", |row| row.outcome.count().to_string()),
    ("missed_periods", |row| optional(row.outcome.missed())),
    ("unfinished", |row| row.outcome.unfinished.to_string()),
];
/// The columns after the statistics. Those from `between` to `messages_reordered` are empty for all work but notifications.
const AFTER: [CsvColumn; 20] = [
    ("corrected_p99_ns", |row| optional(row.outcome.corrected_summary().map(|summary| summary.p99))),
    ("elapsed_ns", |row| row.outcome.usage.elapsed.as_nanos().to_string()),
    ("user_ns", |row| row.outcome.usage.user.as_nanos().to_string()),
    ("system_ns", |row| row.outcome.usage.system.as_nanos().to_string()),
    ("between", |row| optional(row.exchange().map(|exchange| exchange.between.name()))),
    ("sender_cpu", |row| optional(row.exchange().and_then(|exchange| exchange.sender_cpu))),
    ("placement", |row| optional(row.exchange().and_then(|exchange| exchange.placement))),
    ("receiver", |row| optional(row.exchange().map(|exchange| exchange.receiver.name()))),
    ("round_trip", |row| optional(row.exchange().map(|exchange| exchange.round_trip))),
    ("send_p50_ns", |row| {
        optional(row.exchange().and_then(|_| row.outcome.send_summary()).map(|summary| summary.p50))
    }),
    ("messages_lost", |row| optional(row.exchange().map(|_| row.outcome.irregular().messages_lost))),
    ("messages_duplicated", |row| {
        optional(row.exchange().map(|_| row.outcome.irregular().messages_duplicated))
    }),
    ("messages_reordered", |row| {
        optional(row.exchange().map(|_| row.outcome.irregular().messages_reordered))
    }),
    ("host_load", |row| optional(row.condition.on_host.as_ref().map(|on_host| &on_host.load))),
    ("vcpu_policy", |row| {
        optional(row.condition.on_host.as_ref().and_then(|on_host| on_host.vcpu_policy.as_ref()))
    }),
    ("node", |row| optional(row.condition.value(Property::Node))),
    ("name", |row| optional(row.condition.value(Property::Name))),
    ("knob", |row| optional(row.condition.value(Property::Knob))),
    ("clipped_at_ns", |row| optional(row.summary.as_ref().and_then(|summary| summary.clipped_at))),
    ("clock", |row| optional(row.condition.value(Property::Clock))),
];

impl<'a> CsvRow<'a> {
    fn new(outcome: &'a Outcome, recording: &'a str) -> Self {
        let planned = outcome.knows_planned().then(|| (outcome.planned().count(), outcome.planned_summary()));
        let (condition, summary) = (&outcome.condition, outcome.summary());
        Self { recording, outcome, condition, summary, planned }
    }

    fn planned_value(&self, value: fn(&Summary) -> i64) -> String {
        optional(self.planned.as_ref().and_then(|(_, summary)| summary.as_ref()).map(value))
    }

    /// `None` for all work but notifications.
    fn exchange(&self) -> Option<Exchange> {
        match self.condition.work {
            Work::Notify { between, sender_cpu, placement, receiver, round_trip, .. } => {
                Some(Exchange { between, sender_cpu, placement, receiver, round_trip })
            }
            _ => None,
        }
    }

    fn cells(&self) -> Vec<String> {
        let statistics =
            ALL.map(|column| optional(self.summary.as_ref().map(|summary| column.value(summary))));
        let before = BEFORE.iter().map(|(_, cell)| cell(self));
        before.chain(statistics).chain(AFTER.iter().map(|(_, cell)| cell(self))).collect()
    }
}

/// One row per condition of each recording; `names` are the recordings' file names.
pub fn csv<'a>(analyses: impl IntoIterator<Item = &'a Analysis>, names: &[String]) -> io::Result<String> {
    let mut out = Writer::from_writer(Vec::new());
    let statistics = ALL.map(|column| column.name_with_unit());
    let name = |(name, _): CsvColumn| name;
    let names_before = BEFORE.into_iter().map(name).chain(statistics.iter().map(String::as_str));
    out.write_record(names_before.chain(AFTER.into_iter().map(name)))?;
    for (analysis, name) in analyses.into_iter().zip(names) {
        for outcome in analysis.outcomes() {
            out.write_record(CsvRow::new(outcome, name).cells())?;
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

/// The requested period or length in nanoseconds, where known.
fn length_of(condition: &Condition) -> Option<u64> {
    Property::Length.value_in(condition).map(|_| condition.work.length().as_nanos())
}

/// One row per sleep, in order of time: its duration, and the time since the previous wake-up (empty for the first of a turn).
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
