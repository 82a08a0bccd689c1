//! Every block of recordings as a table row, for databases.

use howlate_analyse::Outcome;
use howlate_analyse::compare::{Piece, Track};
use howlate_model::{HasProperties, Latency, Property, Span};
use howlate_recording::{ColumnValues, TableColumn};

/// A block with its condition and recording.
struct BlockRow<'a> {
    recording: &'a str,
    track: &'a Track,
    outcome: &'a Outcome,
    block: &'a Piece,
}

/// Quantiles with the wake-ups that they need.
const QUANTILES: [(&str, f64, u64); 4] =
    [("p50_ns", 0.5, 1), ("p90_ns", 0.9, 10), ("p99_ns", 0.99, 100), ("p99_9_ns", 0.999, 1_000)];

/// Columns with a row per block; `names` are those of the recordings.
pub fn block_columns(tracks: &[Track], names: &[String]) -> Vec<TableColumn> {
    let rows: Vec<BlockRow<'_>> =
        tracks.iter().zip(names).flat_map(|(track, name)| rows(track, name)).collect();
    columns(&rows)
}

fn rows<'a>(track: &'a Track, recording: &'a str) -> Vec<BlockRow<'a>> {
    let conditions = track.analysis.outcomes().iter().zip(track.blocks());
    let row = |(outcome, blocks): (&'a Outcome, &'a [Piece])| {
        blocks.iter().map(move |block| BlockRow { recording, track, outcome, block })
    };
    conditions.flat_map(row).collect()
}

fn columns(rows: &[BlockRow<'_>]) -> Vec<TableColumn> {
    let mut columns = vec![
        text_column("recording", rows, |row| Some(row.recording.to_owned())),
        text_column("started", rows, |row| Some(row.track.analysis.header.started.clone())),
        text_column("node", rows, node),
    ];
    columns.extend(Property::ALL.iter().filter_map(|property| property_column(*property, rows)));
    columns.extend([
        number_column("sender_cpu", rows, |row| row.outcome.condition.work.sender_cpu().map(i64::from)),
        number_column("round", rows, |row| Some(row.block.round.into())),
        number_column("from_ns", rows, |row| Some(row.block.from.as_nanos())),
        number_column("until_ns", rows, |row| Some(row.block.until.as_nanos())),
        number_column("count", rows, |row| i64::try_from(row.block.happened).ok()),
        number_column("planned", rows, |row| i64::try_from(row.block.latency.count()).ok()),
        number_column("min_ns", rows, |row| row.block.latency.min().map(Latency::as_nanos)),
    ]);
    for (name, quantile, needed) in QUANTILES {
        columns.push(number_column(name, rows, |row| {
            let latency = &row.block.latency;
            latency.quantile(quantile).filter(|_| latency.count() >= needed).map(Latency::as_nanos)
        }));
    }
    columns.push(number_column("max_ns", rows, |row| row.block.latency.max().map(Latency::as_nanos)));
    columns
}

/// Node of the condition, or of the recording.
fn node(row: &BlockRow<'_>) -> Option<String> {
    row.outcome.condition.node.clone().or_else(|| row.track.analysis.header.node.name.clone())
}

/// Column of a property, numeric where possible; `None` for properties with a column of their own.
fn property_column(property: Property, rows: &[BlockRow<'_>]) -> Option<TableColumn> {
    let nanos = |span: Span| i64::try_from(span.as_nanos()).ok();
    Some(match property {
        Property::Node => return None,
        Property::Length => number_column("length_ns", rows, |row| {
            let condition = &row.outcome.condition;
            property.value_in(condition).and_then(|_| nanos(condition.work.length()))
        }),
        Property::Slack => {
            number_column("slack_ns", rows, |row| row.outcome.condition.slack_ns.and_then(nanos))
        }
        Property::Cpu => number_column("cpu", rows, |row| row.outcome.condition.cpu.map(i64::from)),
        Property::Thread => number_column("thread", rows, |row| Some(row.outcome.condition.thread.into())),
        other => text_column(&other.name().replace('-', "_"), rows, |row| {
            Some(row.outcome.value(other)?.to_string())
        }),
    })
}

fn text_column(
    name: &str,
    rows: &[BlockRow<'_>],
    of: impl Fn(&BlockRow<'_>) -> Option<String>,
) -> TableColumn {
    (name.to_owned(), ColumnValues::Texts(rows.iter().map(of).collect()))
}

fn number_column(
    name: &str,
    rows: &[BlockRow<'_>],
    of: impl Fn(&BlockRow<'_>) -> Option<i64>,
) -> TableColumn {
    (name.to_owned(), ColumnValues::Numbers(rows.iter().map(of).collect()))
}
