//! The numbers behind a picture, as CSV.

use csv::Writer;

/// `headings`, then `rows`.
pub(crate) fn csv(headings: &[String], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut out = Writer::from_writer(Vec::new());
    // Writing to memory cannot fail, and every row has as many fields as there are headings.
    drop(out.write_record(headings));
    rows.into_iter().for_each(|row| drop(out.write_record(row)));
    String::from_utf8(out.into_inner().unwrap_or_default()).unwrap_or_default()
}

/// A value, or nothing.
pub(crate) fn optional(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}
