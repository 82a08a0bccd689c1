//! What a file is, as its beginning and its content show.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use howlate_import::{Imported, Reading, import, unpacked};
use howlate_recording::{ReadError, Reader, Sources, new_id};

use crate::error::NotRead;
use crate::files::{files, is_several, visible_files};

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
    let is_script = path.extension().is_some_and(|ending| ENDINGS.iter().any(|item| ending == *item));
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

/// Opens the file at `path`, which may be a pipe, or `-` for standard input: nothing of it is read twice. A folder, or a pattern
/// that several files match, is the recording that they give together.
pub(crate) fn open(path: &Path, reading: Reading) -> Result<Source, NotRead> {
    if is_several(path) {
        return open_several(path, reading);
    }
    let failed = |source| ReadError::Io { path: path.to_owned(), source };
    let refused = |source| NotRead::Import { path: path.to_owned(), source };
    let file = unpacked(BufReader::new(bytes(path).map_err(failed)?)).map_err(failed)?.map_err(refused)?;
    let mut file = BufReader::new(file);
    let start = file.fill_buf().map_err(failed)?.to_vec();
    if start.starts_with(HEADER) {
        return Ok(Source::Recording(Reader::read(file, path)?));
    }
    if start.starts_with(TIMELINE) {
        return Err(NotRead::Timeline { path: path.to_owned() });
    }
    if is_page(&start) {
        return Err(NotRead::Page { path: path.to_owned() });
    }
    match import(file, reading) {
        Some(Ok(imported)) => Ok(Source::Imported(imported)),
        Some(Err(source)) => Err(refused(source)),
        None if is_program(&start, path) => Err(NotRead::Program { path: path.to_owned() }),
        None => Err(nothing_known(&start, path)),
    }
}

fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The bytes of a file, or of standard input.
fn bytes(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    if is_standard_input(path) { Ok(Box::new(io::stdin())) } else { Ok(Box::new(File::open(path)?)) }
}

/// Recordings as one; files of other programs as the results of one.
fn open_several(path: &Path, reading: Reading) -> Result<Source, NotRead> {
    let files = match files(path) {
        Err(NotRead::NoRecordings { .. }) if path.is_dir() => return open_results_in(path, reading),
        files => files?,
    };
    if files.iter().any(|file| begins_as_recording(file)) {
        let sources = Sources::open(&files, new_id(), Vec::new())?;
        return Ok(Source::Merged(Box::new(sources)));
    }
    let mut parts = Vec::new();
    for file in &files {
        let Source::Imported(imported) = open(file, reading)? else { continue };
        parts.push((name(file), imported));
    }
    joined(parts, path)
}

fn joined(parts: Vec<(String, Imported)>, path: &Path) -> Result<Source, NotRead> {
    if parts.is_empty() {
        return Err(NotRead::NoRecordings { path: path.to_owned() });
    }
    let refused = |source| NotRead::Import { path: path.to_owned(), source };
    Imported::joined(parts).map(Source::Imported).map_err(refused)
}

/// Of a folder without recordings, the results of other programs; what is of none of them is something else.
fn open_results_in(folder: &Path, reading: Reading) -> Result<Source, NotRead> {
    let mut parts = Vec::new();
    for file in visible_files(folder)? {
        match open(&file, reading) {
            Ok(Source::Imported(imported)) => parts.push((name(&file), imported)),
            Err(error @ NotRead::Import { .. }) => return Err(error),
            Ok(_) | Err(_) => {}
        }
    }
    joined(parts, folder)
}

/// What a file is called among others: a folder is the same for all.
fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn begins_as_recording(path: &Path) -> bool {
    let mut start = [0; HEADER.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == HEADER
}

/// Why a file is none of ours in which nothing of others was found: what is not meant to be JSON is not called damaged JSON.
fn nothing_known(start: &[u8], path: &Path) -> NotRead {
    let path = if is_standard_input(path) { Path::new("standard input") } else { path };
    let not_ours = |reason: &str| {
        NotRead::Read(ReadError::NotARecording { path: path.to_owned(), reason: reason.to_owned() })
    };
    match start.trim_ascii_start().first() {
        None => NotRead::Read(ReadError::Empty { path: path.to_owned() }),
        Some(b'{' | b'[') if is_json(start) => {
            not_ours("it is JSON, but of no program whose files howlate reads")
        }
        // A line of ours begins so, and says what is wrong with it.
        Some(b'{') => match Reader::read(Cursor::new(start.to_vec()), path) {
            Ok(_) => not_ours("it changed while it was read"),
            Err(error) => error.into(),
        },
        Some(_) => not_ours("no program whose files howlate reads writes such text"),
    }
}

/// Whether it is JSON, as far as it was read.
fn is_json(start: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Value>(start).map_or_else(|error| error.is_eof(), |_| true)
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
