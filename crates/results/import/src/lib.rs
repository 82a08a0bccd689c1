//! What other programs measured, as lines of a recording.
//!
//! It stays what it is: distributions without turns, or stretches of time where a log has them. What a file does not
//! say is listed in a caveat, and nothing is made up for it. Pure: bytes in, lines out. The bytes may be anybody's: what
//! they take in memory is bounded, however long they are.
//!
//! A file is recognised by its lines: `scan` takes off what wraps them (`wrapping`) and gives each to the formats whose
//! signs it has seen (`formats`, one file each).

#![deny(clippy::arithmetic_side_effects, reason = "numbers are from files that anybody wrote")]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects))]

mod chunks;
mod draft;
mod error;
mod format;
mod formats;
mod histogram;
mod json;
mod json_text;
#[cfg(test)]
mod manual;
mod neighbours;
mod packed;
mod rows;
mod scan;
#[cfg(test)]
mod variants_tests;
mod wrapping;

use std::io::Read;

pub use draft::Imported;
pub use error::ImportError;
pub use format::ImportOptions;
pub use packed::unpacked;

/// The longest line that is looked at, in bytes: 2 048 threads take far less.
const LONGEST_LINE: usize = 8 << 20;

/// Maximum bytes of JSON, which takes many times its length in memory.
const LONGEST_JSON: usize = 8 << 20;

/// Bytes of memory that the distributions of one file may take: 1 000 threads that were up to ten milliseconds late. Whoever
/// analyses them holds several copies, of two files to compare them.
const MOST_ROOM: usize = 32 << 20;

/// Reads what another program has written; `None` where no format is recognised.
pub fn import(file: impl Read, options: ImportOptions) -> Option<Result<Imported, ImportError>> {
    scan::FormatScan::new(options).run(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn import(text: &str) -> Option<Result<Imported, ImportError>> {
        super::import(text.as_bytes(), ImportOptions::default())
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
    fn what_never_ends_is_looked_at_for_a_while() {
        struct Endless;
        impl std::io::Read for Endless {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                buffer.fill(b'y');
                buffer.chunks_mut(1 << 16).for_each(|line| line[0] = b'\n');
                Ok(buffer.len())
            }
        }
        assert!(super::import(Endless, ImportOptions::default()).is_none());
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
