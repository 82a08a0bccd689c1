//! Every block of recordings as a row, for data bases.

use howlate_analyse::Outcome;
use howlate_analyse::compare::{Piece, Track};
use howlate_model::{HasProperties, Latency, Property, Span};
use howlate_recording::{Column, Values};

/// A block, and what it is of.
struct Row<'a> {
    recording: &'a str,
    track: &'a Track,
    outcome: &'a Outcome,
    block: &'a Piece,
}

/// Quantiles, each with how many wake-ups it takes to tell it.
const QUANTILES: [(&str, f64, u64); 4] =
    [("p50_ns", 0.5, 1), ("p90_ns", 0.9, 10), ("p99_ns", 0.99, 100), ("p99_9_ns", 0.999, 1_000)];

/// Columns with a row for each block of each condition; `names` are those of the recordings that were read.
pub fn block_columns(tracks: &[Track], names: &[String]) -> Vec<Column> {
    let rows: Vec<Row<'_>> = tracks.iter().zip(names).flat_map(|(track, name)| rows(track, name)).collect();
    columns(&rows)
}

fn rows<'a>(track: &'a Track, recording: &'a str) -> Vec<Row<'a>> {
    let conditions = track.analysis.outcomes().iter().zip(track.blocks());
    let row = |(outcome, blocks): (&'a Outcome, &'a [Piece])| {
        blocks.iter().map(move |block| Row { recording, track, outcome, block })
    };
    conditions.flat_map(row).collect()
}

fn columns(rows: &[Row<'_>]) -> Vec<Column> {
    let mut columns = vec![
        texts("recording", rows, |row| Some(row.recording.to_owned())),
        texts("started", rows, |row| Some(row.track.analysis.header.started.clone())),
        texts("node", rows, node),
    ];
    columns.extend(Property::ALL.iter().filter_map(|property| property_of(*property, rows)));
    columns.extend([
        numbers("sender_cpu", rows, |row| row.outcome.condition.work.sender_cpu().map(i64::from)),
        numbers("round", rows, |row| Some(row.block.round.into())),
        numbers("from_ns", rows, |row| Some(row.block.from.as_nanos())),
        numbers("until_ns", rows, |row| Some(row.block.until.as_nanos())),
        numbers("count", rows, |row| i64::try_from(row.block.happened).ok()),
        numbers("planned", rows, |row| i64::try_from(row.block.latency.count()).ok()),
        numbers("min_ns", rows, |row| row.block.latency.min().map(Latency::as_nanos)),
    ]);
    for (name, quantile, needed) in QUANTILES {
        columns.push(numbers(name, rows, |row| {
            let latency = &row.block.latency;
            latency.quantile(quantile).filter(|_| latency.count() >= needed).map(Latency::as_nanos)
        }));
    }
    columns.push(numbers("max_ns", rows, |row| row.block.latency.max().map(Latency::as_nanos)));
    columns
}

/// The machine of a merged recording's condition, or of the whole recording.
fn node(row: &Row<'_>) -> Option<String> {
    row.outcome.condition.node.clone().or_else(|| row.track.analysis.header.node.name.clone())
}

/// A property of the condition: a number where it is one. What has a column of another kind has none here.
fn property_of(property: Property, rows: &[Row<'_>]) -> Option<Column> {
    let nanos = |span: Span| i64::try_from(span.as_nanos()).ok();
    Some(match property {
        Property::Node => return None,
        Property::Length => numbers("length_ns", rows, |row| {
            let condition = &row.outcome.condition;
            property.value_in(condition).and_then(|_| nanos(condition.work.length()))
        }),
        Property::Slack => numbers("slack_ns", rows, |row| row.outcome.condition.slack_ns.and_then(nanos)),
        Property::Cpu => numbers("cpu", rows, |row| row.outcome.condition.cpu.map(i64::from)),
        Property::Thread => numbers("thread", rows, |row| Some(row.outcome.condition.thread.into())),
        other => {
            texts(&other.name().replace('-', "_"), rows, |row| Some(row.outcome.value(other)?.to_string()))
        }
    })
}

fn texts(name: &str, rows: &[Row<'_>], of: impl Fn(&Row<'_>) -> Option<String>) -> Column {
    (name.to_owned(), Values::Texts(rows.iter().map(of).collect()))
}

fn numbers(name: &str, rows: &[Row<'_>], of: impl Fn(&Row<'_>) -> Option<i64>) -> Column {
    (name.to_owned(), Values::Numbers(rows.iter().map(of).collect()))
}
