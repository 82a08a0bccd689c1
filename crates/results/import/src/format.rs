//! A file format: detection, reader, and its row of the manual.

use howlate_model::TimeUnit;
use serde_json::Value;

use crate::draft::ImportDraft;
use crate::error::ImportError;

#[cfg_attr(not(test), allow(dead_code, reason = "the manual and tests have what only they need"))]
pub(crate) struct FileFormat {
    /// Description of the file: the first column of the manual's table.
    pub(crate) file: &'static str,
    /// Program that writes it.
    pub(crate) written_by: &'static str,
    /// Resulting conditions and numbers.
    pub(crate) becomes: &'static str,
    pub(crate) samples: &'static [&'static str],
    pub(crate) shape: Shape,
}

/// Structure of the files.
pub(crate) enum Shape {
    /// Lines without their wrapping.
    Lines {
        /// First bytes of lines that may be signs: others are skipped.
        first: &'static [u8],
        /// Whether a line shows that this format begins or continues.
        is_sign: fn(&str) -> bool,
        begin: fn(ImportOptions) -> Box<dyn LineReader>,
    },
    Json {
        is_it: fn(&Value) -> bool,
        read: fn(&Value) -> Result<ImportDraft, ImportError>,
    },
}

/// Options of importing a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImportOptions {
    /// Unit of files that do not contain it.
    pub unit: Option<TimeUnit>,
}

/// End of the last line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastLine {
    Whole,
    /// Without a newline: it may be truncated.
    Open,
}

/// Reads a text line by line, from its first sign on.
pub(crate) trait LineReader {
    fn line(&mut self, line: &str) -> Result<(), ImportError>;
    /// The last line of a file, if it has no end: numbers in it may lack digits.
    fn open_line(&mut self, _line: &str) -> Result<(), ImportError> {
        Ok(())
    }
    /// What was read: a draft for each result.
    fn finish(self: Box<Self>, last: LastLine) -> Result<Vec<ImportDraft>, ImportError>;
}

/// A program whose files are recognised and not read.
pub(crate) struct Neighbour {
    pub(crate) is_sign: fn(&str) -> bool,
    /// What its file is, and what it lacks.
    pub(crate) what: &'static str,
    /// What to type instead.
    pub(crate) remedy: &'static str,
}
