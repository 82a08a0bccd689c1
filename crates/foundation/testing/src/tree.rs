//! Files of a kernel, as tests write them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::Path;

use tempfile::TempDir;

/// A folder that holds these files: where each is below it, and what it says.
///
/// # Panics
///
/// When it cannot be made.
pub fn tree(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    files.iter().for_each(|(path, text)| write_below(folder.path(), path, text));
    folder
}

/// Writes one such file, and makes the folders that it is in.
///
/// # Panics
///
/// When it cannot be written.
pub fn write_below(folder: &Path, path: &str, text: &str) {
    let file = folder.join(path.trim_start_matches('/'));
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}
