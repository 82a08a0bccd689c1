//! Detection of file types by their content.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use howlate_import::{ImportOptions, Imported, import, unpacked};
use howlate_recording::{ReadError, Reader, Sources, new_id};

use crate::error::OpenError;
use crate::files::{files, is_several, visible_files};

/// First bytes of a recording.
const HEADER: &[u8] = b"{\"header\"";

/// First bytes of a timeline.
const TIMELINE: &[u8] = b"{\"displayTimeUnit\"";

/// Whether it is an HTML page of howlate.
fn is_page(start: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&start[..start.len().min(PAGE)]).to_lowercase();
    head.starts_with("<!doctype html>") && head.contains("howlate")
}

/// Whether it is an executable or a script.
fn is_program(start: &[u8], path: &Path) -> bool {
    /// Extensions of scripts that need not be executable.
    const ENDINGS: [&str; 8] = ["py", "sh", "js", "mjs", "rb", "pl", "jar", "lua"];
    let is_script = path.extension().is_some_and(|ending| ENDINGS.iter().any(|item| ending == *item));
    start.starts_with(b"\x7fELF") || start.starts_with(b"#!") || is_script
}

/// Bytes of a page that are searched.
const PAGE: usize = 4_096;

pub(crate) enum OpenedFile {
    /// A recording, read line by line.
    Recording(Reader),
    /// A file of another program, read completely.
    Imported(Imported),
    /// Several recordings, merged while reading.
    Merged(Box<Sources>),
}

/// Opens the file at `path`, which may be a pipe or `-` for standard input, as nothing is read twice. A folder or a
/// pattern with several matches is merged.
pub(crate) fn open(path: &Path, import_options: ImportOptions) -> Result<OpenedFile, OpenError> {
    if is_several(path) {
        return open_several(path, import_options);
    }
    let failed = |source| ReadError::Io { path: path.to_owned(), source };
    let refused = |source| OpenError::Import { path: path.to_owned(), source };
    let file = unpacked(BufReader::new(bytes(path).map_err(failed)?)).map_err(failed)?.map_err(refused)?;
    let mut file = BufReader::new(file);
    let start = file.fill_buf().map_err(failed)?.to_vec();
    if start.starts_with(HEADER) {
        return Ok(OpenedFile::Recording(Reader::read(file, path)?));
    }
    if start.starts_with(TIMELINE) {
        return Err(OpenError::Timeline { path: path.to_owned() });
    }
    if is_page(&start) {
        return Err(OpenError::Page { path: path.to_owned() });
    }
    match import(file, import_options) {
        Some(Ok(imported)) => Ok(OpenedFile::Imported(imported)),
        Some(Err(source)) => Err(refused(source)),
        None if is_program(&start, path) => Err(OpenError::Program { path: path.to_owned() }),
        None => Err(nothing_known(&start, path)),
    }
}

fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Reader of a file or of standard input.
fn bytes(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    if is_standard_input(path) { Ok(Box::new(io::stdin())) } else { Ok(Box::new(File::open(path)?)) }
}

/// Merges recordings, or joins files of other programs.
fn open_several(path: &Path, import_options: ImportOptions) -> Result<OpenedFile, OpenError> {
    let files = match files(path) {
        Err(OpenError::NoRecordings { .. }) if path.is_dir() => return open_results_in(path, import_options),
        files => files?,
    };
    if files.iter().any(|file| begins_as_recording(file)) {
        let sources = Sources::open(&files, new_id(), Vec::new())?;
        return Ok(OpenedFile::Merged(Box::new(sources)));
    }
    let mut parts = Vec::new();
    for file in &files {
        let OpenedFile::Imported(imported) = open(file, import_options)? else { continue };
        parts.push((name(file), imported));
    }
    joined(parts, path)
}

fn joined(parts: Vec<(String, Imported)>, path: &Path) -> Result<OpenedFile, OpenError> {
    if parts.is_empty() {
        return Err(OpenError::NoRecordings { path: path.to_owned() });
    }
    let refused = |source| OpenError::Import { path: path.to_owned(), source };
    Imported::joined(parts).map(OpenedFile::Imported).map_err(refused)
}

/// Joins the files of other programs in a folder without recordings; other files are ignored.
fn open_results_in(folder: &Path, import_options: ImportOptions) -> Result<OpenedFile, OpenError> {
    let mut parts = Vec::new();
    for file in visible_files(folder)? {
        match open(&file, import_options) {
            Ok(OpenedFile::Imported(imported)) => parts.push((name(&file), imported)),
            Err(error @ OpenError::Import { .. }) => return Err(error),
            Ok(_) | Err(_) => {}
        }
    }
    joined(parts, folder)
}

/// File name; the folder is common to all.
fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn begins_as_recording(path: &Path) -> bool {
    let mut start = [0; HEADER.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == HEADER
}

/// Error for an unsupported file. Only text that looks like JSON is reported as damaged JSON.
fn nothing_known(start: &[u8], path: &Path) -> OpenError {
    let path = if is_standard_input(path) { Path::new("standard input") } else { path };
    let not_ours = |reason: &str| {
        OpenError::Read(ReadError::NotARecording { path: path.to_owned(), reason: reason.to_owned() })
    };
    match start.trim_ascii_start().first() {
        None => OpenError::Read(ReadError::Empty { path: path.to_owned() }),
        Some(b'{' | b'[') if is_json(start) => {
            not_ours("it is JSON, but of no program whose files howlate reads")
        }
        // Maybe a damaged recording: its reader reports details.
        Some(b'{') => match Reader::read(Cursor::new(start.to_vec()), path) {
            Ok(_) => not_ours("it changed while it was read"),
            Err(error) => error.into(),
        },
        Some(_) => not_ours("no program whose files howlate reads writes such text"),
    }
}

/// Whether it is valid JSON, maybe truncated.
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
