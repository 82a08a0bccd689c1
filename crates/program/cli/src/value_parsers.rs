//! Parsers of option values: counts, units, file names.

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use howlate_model::TimeUnit;

/// A whole number. The error says how to type numbers such as `1e6`.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    text.parse().map_err(|error: std::num::ParseIntError| match plain_number(text) {
        Some(number) => format!("type {number}"),
        None => format!("{error}; type a whole number, such as 1000"),
    })
}

/// The value of `1e6`, `1_000_000`, `10k` or `1M`, if it is a whole number.
fn plain_number(text: &str) -> Option<u64> {
    let plain: String = text.chars().filter(|letter| !matches!(letter, '_' | ' ' | ',' | '\u{a0}')).collect();
    let (digits, factor) = match plain.strip_suffix(['k', 'K', 'M']) {
        Some(digits) if plain.ends_with('M') => (digits, 1e6),
        Some(digits) => (digits, 1e3),
        None => (plain.as_str(), 1.0),
    };
    /// Largest integer up to which a double is exact.
    const MOST: f64 = 9_007_199_254_740_992.0;
    let number = digits.parse::<f64>().ok()? * factor;
    let is_whole = (0.0..=MOST).contains(&number) && number.fract() == 0.0;
    is_whole.then(|| format!("{number}").parse().ok()).flatten()
}

/// A unit of time.
pub(crate) fn time_unit(text: &str) -> Result<TimeUnit, String> {
    TimeUnit::read(text).ok_or_else(|| "write ns, us, ms or s".to_owned())
}

/// The name of a file to write. `-` is refused: standard output has the result already.
pub fn file_name() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|name| match name == "-" {
        true => Err(NOT_STANDARD_OUTPUT),
        false => Ok(PathBuf::from(name)),
    })
}

/// Why `-` is refused as a file to write.
pub(super) const NOT_STANDARD_OUTPUT: &str = "standard output is for the result; `/dev/stdout` writes the recording there as well, `./-` a file of this name";

/// A file name for node_exporter's textfile collector, which silently ignores files that do not end in `.prom`.
///
/// Source: README of node_exporter, "Textfile Collector".
pub(crate) fn prometheus_file() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|name| {
        let path = PathBuf::from(&name);
        match path.extension().is_some_and(|ending| ending == "prom") {
            true => Ok(path),
            false => Err(format!(
                "node_exporter reads only files whose names end in `.prom`: write `{}`",
                path.with_extension("prom").display()
            )),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_written_otherwise_is_told_as_it_is_typed() {
        assert_eq!(count("1000000"), Ok(1_000_000));
        for text in ["1e6", "1_000_000", "1,000,000", "1000k", "1M", "1000000.0"] {
            assert_eq!(count(text), Err("type 1000000".to_owned()), "{text}");
        }
        for text in ["", "-5", "1.5", "many", "inf", "1e300", "NaN"] {
            let message = count(text).unwrap_err();
            assert!(message.ends_with("type a whole number, such as 1000"), "{text}: {message}");
        }
    }

    #[test]
    fn units_are_typed_as_they_are_printed() {
        assert_eq!(time_unit("us"), Ok(TimeUnit::Microseconds));
        assert_eq!(time_unit("milliseconds"), Ok(TimeUnit::Milliseconds));
        assert!(time_unit("min").is_err());
    }
}
