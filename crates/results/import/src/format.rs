//! What a format is: how it is recognised, who reads it, and what the manual says of it.

use howlate_model::TimeUnit;
use serde_json::Value;

use crate::draft::Draft;
use crate::error::ImportError;

/// A format that is read.
#[cfg_attr(not(test), allow(dead_code, reason = "the manual and tests have what only they need"))]
pub(crate) struct Format {
    /// What the file is: the first column of the manual's table.
    pub(crate) file: &'static str,
    /// Who writes it.
    pub(crate) written_by: &'static str,
    /// What becomes of it.
    pub(crate) becomes: &'static str,
    /// Files of `testdata/foreign` that are of this format.
    pub(crate) samples: &'static [&'static str],
    pub(crate) shape: Shape,
}

/// What a format's files consist of.
pub(crate) enum Shape {
    /// Lines, each without what wraps it.
    Lines {
        /// What lines begin with that may be a sign: the others are not looked at.
        first: &'static [u8],
        /// Whether a line is a sign that this format begins, or goes on.
        is_sign: fn(&str) -> bool,
        begin: fn(ImportOptions) -> Box<dyn LineReader>,
    },
    /// One JSON value.
    Json { is_it: fn(&Value) -> bool, read: fn(&Value) -> Result<Draft, ImportError> },
}

/// How a file is to be taken.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImportOptions {
    /// The unit of a file that does not say its own.
    pub unit: Option<TimeUnit>,
}

/// How the last line of a file ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastLine {
    /// As every other.
    Whole,
    /// Without a line feed: it may have been cut off.
    Open,
}

/// What takes a text line by line, from its first sign on.
pub(crate) trait LineReader {
    fn line(&mut self, line: &str) -> Result<(), ImportError>;
    /// The last line of a file, if it has no end: numbers in it may lack digits.
    fn open_line(&mut self, _line: &str) -> Result<(), ImportError> {
        Ok(())
    }
    /// What was read: a draft for each result.
    fn finish(self: Box<Self>, last: LastLine) -> Result<Vec<Draft>, ImportError>;
}

/// A program whose files are recognised and not read.
pub(crate) struct Neighbour {
    pub(crate) is_sign: fn(&str) -> bool,
    /// What its file is, and what it lacks.
    pub(crate) what: &'static str,
    /// What to type instead.
    pub(crate) remedy: &'static str,
}
