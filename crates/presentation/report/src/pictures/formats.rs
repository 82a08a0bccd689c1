//! Tick labels of axes, and CSV of pictures.

use csv::Writer;
use howlate_model::{Latency, Span};
use howlate_render::numbers::{count, length};

/// A length of time: `10 µs`.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "axes begin at 0 or above")]
pub(crate) fn time(nanos: f64) -> String {
    length(Span::from_nanos(nanos.round().max(0.0) as u64))
}

/// A latency with three digits: `12.3 µs`.
#[allow(clippy::cast_possible_truncation, reason = "latencies are whole nanoseconds")]
pub(crate) fn latency(nanos: f64) -> String {
    Latency::from_nanos(nanos as i64).to_string()
}

/// A count: `1 000`, `2 M`.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts are whole")]
pub(crate) fn number(value: f64) -> String {
    match value {
        value if value >= 1e9 => format!("{} G", value / 1e9),
        value if value >= 1e6 => format!("{} M", value / 1e6),
        value => count(value.round() as u64),
    }
}

pub(crate) fn seconds(value: f64) -> String {
    match value {
        value if value >= 7_200.0 => format!("{:.1} h", value / 3_600.0),
        value => format!("{} s", (value * 1e3).round() / 1e3),
    }
}

/// CSV of a table.
pub(crate) fn csv(headings: &[String], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut out = Writer::from_writer(Vec::new());
    // Writing to memory cannot fail, and every row has as many fields as there are headings.
    drop(out.write_record(headings));
    rows.into_iter().for_each(|row| drop(out.write_record(row)));
    String::from_utf8(out.into_inner().unwrap_or_default()).unwrap_or_default()
}

/// An empty field for `None`.
pub(crate) fn optional(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}
