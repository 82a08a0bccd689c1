//! Where output goes: functions that the caller provides, and files.

use std::path::Path;
use std::{fs, io};

use crate::error::RtTestsError;

/// Standard output and standard error of the caller.
#[derive(Clone, Copy)]
pub struct Streams {
    /// Prints to standard output without any change, for programs that parse it.
    pub print: fn(&str) -> io::Result<()>,
    /// Prints to standard error: warnings, errors, and the status that signals request.
    pub say: fn(&str),
}

impl Streams {
    /// Prints to standard output.
    ///
    /// # Errors
    ///
    /// If writing fails, such as after the reader closed a pipe.
    pub fn print(self, text: &str) -> io::Result<()> {
        (self.print)(text)
    }

    /// Prints to standard error.
    pub fn say(self, text: &str) {
        (self.say)(text);
    }
}

pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), RtTestsError> {
    fs::write(path, text).map_err(|source| RtTestsError::File { path: path.display().to_string(), source })
}
