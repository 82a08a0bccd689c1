//! What other programs measured, as lines of a recording.
//!
//! It stays what it is: distributions without turns, or stretches of time where a log has them. What a file does not
//! say is listed in a caveat, and nothing is made up for it. Pure: text in, lines out. The text may be anybody's: what
//! it takes in memory is bounded by its length.

#![deny(clippy::arithmetic_side_effects, reason = "numbers are from files that anybody wrote")]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects))]

mod cyclictest_json;
mod cyclictest_text;
mod cyclictest_verbose;
mod draft;
mod error;
mod hgrm;
mod histogram;
mod hlog;
mod jitterdebugger;
mod json;
mod osadl;
mod oslat;
mod oslat_text;
mod rtla;
mod stress_ng;
mod table;

use serde_json::Value;

pub use draft::Imported;
pub use error::ImportError;

/// The longest text that is looked at, in bytes: a day of a log that has a line per second.
pub const LONGEST: usize = 32 << 20;

/// The same of JSON, which takes many times its length once it is read.
const LONGEST_JSON: usize = 8 << 20;

/// Bytes of memory that the distributions of one file may take: 1 000 threads that were up to ten milliseconds late. Whoever
/// analyses them holds several copies, of two files to compare them.
const MOST_ROOM: usize = 32 << 20;

/// What is made of a file; `None` if it is not of the format.
type Read = Option<Result<Imported, ImportError>>;

const JSON: [fn(&Value) -> Read; 4] = [cyclictest_json::read, oslat::read, jitterdebugger::read, osadl::read];

const TEXT: [fn(&str) -> Read; 7] = [
    cyclictest_text::read,
    cyclictest_verbose::read,
    rtla::read,
    oslat_text::read,
    stress_ng::read,
    hlog::read,
    hgrm::read,
];

/// Reads what another program has written; `None` where no format is recognised.
pub fn import(text: &str) -> Read {
    if !text.trim_start().starts_with('{') {
        return TEXT.iter().find_map(|read| read(text));
    }
    if text.len() > LONGEST_JSON {
        return Some(Err(ImportError::LongJson));
    }
    match serde_json::from_str(text) {
        Ok(object) => JSON.iter().find_map(|read| read(&object)),
        // With less than a name in it, it could be anything.
        Err(error) if error.is_eof() && text.contains('"') => {
            Some(Err(ImportError::CutOff { line: error.line() }))
        }
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `docs/imports.md` has a row for each.
    #[test]
    fn every_format_is_documented() {
        let page =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/imports.md")).unwrap();
        let rows = page.lines().filter(|line| line.starts_with("| ") && line.matches(" | ").count() == 2);
        assert_eq!(rows.count() - 1, JSON.len() + TEXT.len(), "a row for each, below the headings");
    }

    #[test]
    fn what_is_of_no_format_is_left_alone() {
        for text in ["", "{", "{}", "{\"thread\": 7}", "a,b\n1,2\n", "\u{0}\u{1}"] {
            assert!(import(text).is_none(), "{text:?}");
        }
        let cut = "{\n  \"file_version\": 1,\n  \"thread\": {";
        assert_eq!(import(cut).unwrap().unwrap_err(), ImportError::CutOff { line: 3 });
        let long = format!("{{\"a\": \"{}\"}}", " ".repeat(LONGEST_JSON));
        assert_eq!(import(&long).unwrap().unwrap_err(), ImportError::LongJson);
    }

    #[test]
    fn more_threads_than_any_machine_has_take_no_memory() {
        let many = "1 ".repeat(1 << 20);
        let cyclictest = format!("# Histogram\n1 {many}\n# Max Latencies: {many}\n");
        let rtla = format!("# RTLA timerlat histogram\nIndex {}\n0 {many}\n", "IRQ-000 ".repeat(1 << 20));
        for text in [cyclictest, rtla] {
            let error = import(&text).unwrap().unwrap_err().to_string();
            assert!(error.contains("2048 threads at most"), "{error}");
        }
    }

    #[test]
    fn threads_that_are_all_an_hour_late_take_no_memory() {
        let maxima = "3600000000 ".repeat(2_048);
        let counts = "1 ".repeat(2_048);
        let text = format!("# Histogram\n1 {counts}\n3600000000 {counts}\n# Max Latencies: {maxima}\n");
        let error = import(&text).unwrap().unwrap_err().to_string();
        assert!(error.contains("take more than 32 MiB"), "{error}");
    }

    #[test]
    fn counts_that_no_run_can_have_are_refused() {
        let text = format!("# Histogram\n1 {0}\n2 {0}\n# Max Latencies: 2\n", u64::MAX);
        let error = import(&text).unwrap().unwrap_err().to_string();
        assert!(error.contains("more values than any run can have"), "{error}");
    }
}
