//! Files of folders and patterns.

use std::io;
use std::path::{Path, PathBuf};

use howlate_recording::ReadError;

use crate::error::OpenError;

/// Whether `path` means several files: a folder, or a pattern that the shell did not expand.
pub fn is_several(path: &Path) -> bool {
    path.is_dir() || (path.symlink_metadata().is_err() && is_pattern(path))
}

fn is_pattern(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.contains(['*', '?', '[']))
}

/// Files of `path` in order of their names; of a folder those that end in `.jsonl`.
///
/// # Errors
///
/// When there are none, or a folder cannot be read.
pub fn files(path: &Path) -> Result<Vec<PathBuf>, OpenError> {
    let files = match path.is_dir() {
        true => in_folder(path)?,
        false if is_several(path) => matching(path)?,
        false => return Ok(vec![path.to_owned()]),
    };
    if files.is_empty() { Err(OpenError::NoRecordings { path: path.to_owned() }) } else { Ok(files) }
}

fn in_folder(path: &Path) -> Result<Vec<PathBuf>, OpenError> {
    Ok(visible_files(path)?.into_iter().filter(|path| is_recording(path)).collect())
}

/// Files in a folder in order of their names. Names with a leading dot are unfinished.
pub(crate) fn visible_files(path: &Path) -> Result<Vec<PathBuf>, OpenError> {
    let failed = |source: io::Error| ReadError::Io { path: path.to_owned(), source };
    let entries = std::fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(failed)?;
    let is_visible = |path: &PathBuf| {
        !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')) && path.is_file()
    };
    let mut files: Vec<PathBuf> = entries.iter().map(std::fs::DirEntry::path).filter(is_visible).collect();
    files.sort();
    Ok(files)
}

/// Whether it has the extension of recordings.
fn is_recording(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "jsonl")
}

fn matching(pattern: &Path) -> Result<Vec<PathBuf>, OpenError> {
    let wrong = |error: glob::PatternError| ReadError::Io {
        path: pattern.to_owned(),
        source: io::Error::new(io::ErrorKind::InvalidInput, error.msg),
    };
    let paths = glob::glob(&pattern.to_string_lossy()).map_err(wrong)?;
    // An unreadable folder may contain matches.
    let unreadable =
        |error: glob::GlobError| ReadError::Io { path: error.path().to_owned(), source: error.into() };
    let paths: Vec<PathBuf> = paths.collect::<Result<_, _>>().map_err(unreadable)?;
    Ok(paths.into_iter().filter(|path| path.is_file()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_and_a_pattern_stand_for_the_recordings_in_them() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.jsonl", "a.jsonl", ".c.jsonl", "a.txt"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let names = |path: &Path| -> Vec<String> {
            let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
            files(path).unwrap().iter().map(name).collect()
        };
        assert_eq!(names(folder.path()), ["a.jsonl", "b.jsonl"]);
        assert_eq!(names(&folder.path().join("[b-z]*")), ["b.jsonl"]);
        assert_eq!(names(&folder.path().join("a.txt")), ["a.txt"]);
        assert!(matches!(files(&folder.path().join("*.csv")), Err(OpenError::NoRecordings { .. })));
        // A file name may look like a pattern.
        std::fs::write(folder.path().join("[x].jsonl"), "").unwrap();
        assert!(!is_several(&folder.path().join("[x].jsonl")));
    }
}
