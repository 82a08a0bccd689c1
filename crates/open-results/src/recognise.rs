//! What a file is, as its beginning and its content show.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::Path;

use howlate_import::{Imported, LONGEST, import};
use howlate_recording::{ReadError, Reader, Sources, new_id};

use crate::error::NotRead;
use crate::files::{files, is_several};

/// How every recording begins.
const HEADER: &[u8] = b"{\"header\"";

/// How a timeline of all CPUs begins.
const TIMELINE: &[u8] = b"{\"displayTimeUnit\"";

/// Whether it begins as pages of howlate do.
fn is_page(start: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&start[..start.len().min(PAGE)]).to_lowercase();
    head.starts_with("<!doctype html>") && head.contains("howlate")
}

/// Whether it is a program, or the text of one.
fn is_program(start: &[u8], path: &Path) -> bool {
    /// Of files that are given to an interpreter without being executable.
    const ENDINGS: [&str; 8] = ["py", "sh", "js", "mjs", "rb", "pl", "jar", "lua"];
    let is_script = path.extension().is_some_and(|ending| ENDINGS.iter().any(|one| ending == *one));
    start.starts_with(b"\x7fELF") || start.starts_with(b"#!") || is_script
}

/// Bytes of a page in which its title stands.
const PAGE: usize = 4_096;

/// A file that is shown or compared.
pub(crate) enum Source {
    /// A recording of ours, read line by line.
    Recording(Reader),
    /// What another program wrote, read as a whole.
    Imported(Imported),
    /// Several recordings of ours, read as one.
    Merged(Box<Sources>),
}

/// Opens the file at `path`, which may be a pipe: nothing of it is read twice. A folder, or a pattern that several files
/// match, is the recording that they give together.
pub(crate) fn open(path: &Path) -> Result<Source, NotRead> {
    if is_several(path) {
        let sources = Sources::open(&files(path)?, new_id(), Vec::new())?;
        return Ok(Source::Merged(Box::new(sources)));
    }
    let failed = |source| ReadError::Io { path: path.to_owned(), source };
    let mut file = BufReader::new(File::open(path).map_err(failed)?);
    if file.fill_buf().map_err(failed)?.starts_with(HEADER) {
        return Ok(Source::Recording(Reader::read(file, path)?));
    }
    let mut start = Vec::new();
    file.by_ref().take(LONGEST as u64 + 1).read_to_end(&mut start).map_err(failed)?;
    let text = std::str::from_utf8(&start).ok().filter(|text| text.len() <= LONGEST);
    if start.starts_with(TIMELINE) {
        return Err(NotRead::Timeline { path: path.to_owned() });
    }
    if is_page(&start) {
        return Err(NotRead::Page { path: path.to_owned() });
    }
    match text.and_then(import) {
        Some(Ok(imported)) => Ok(Source::Imported(imported)),
        Some(Err(source)) => Err(NotRead::Import { path: path.to_owned(), source }),
        None if is_program(&start, path) => Err(NotRead::Program { path: path.to_owned() }),
        // Says what is wrong with it, as a recording.
        None => Ok(Source::Recording(Reader::read(Cursor::new(start).chain(file), path)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_told_from_a_recording() {
        let is = |start: &[u8], path: &str| is_program(start, Path::new(path));
        assert!(is(b"\x7fELF\x02", "./ctl") && is(b"#!/bin/sh\n", "run") && is(b"import time\n", "loop.py"));
        assert!(!is(b"{}", "run.jsonl") && !is(b"", "run"));
    }
}
