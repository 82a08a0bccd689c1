//! Names of timeline files: next to the recording, with its name.
//!
//! ```text
//! run.jsonl                                       the recording
//! run.20261125T031207.123456Z.trace.json          what all CPUs did then
//! run.20261125T031500.000000Z-snap.trace.json     the same, because somebody asked for it
//! ```

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::target::is_stream;

pub(crate) const ENDING: &str = ".trace.json";

/// Writes and removes the timelines of one recording.
#[derive(Clone, Debug)]
pub struct TimelineFiles {
    folder: PathBuf,
    stem: String,
}

impl TimelineFiles {
    /// Timelines of the recording at `path`; `None` if that is a stream, or its name is not UTF-8.
    pub fn of(path: &Path) -> Option<Self> {
        let stem = path.file_stem()?.to_str()?.to_owned();
        let folder = path.parent().unwrap_or(Path::new(""));
        (!is_stream(path)).then(|| Self { folder: folder.to_owned(), stem })
    }

    /// Writes a timeline named after `moment`; returns its file name.
    ///
    /// # Errors
    ///
    /// The kernel's; existing files are not overwritten.
    pub fn write(&self, moment: &str, text: &str) -> io::Result<String> {
        let name = format!("{}.{moment}{ENDING}", self.stem);
        let path = self.folder.join(&name);
        let mut file = File::options().write(true).create_new(true).open(&path)?;
        if let Err(error) = file.write_all(text.as_bytes()) {
            drop(fs::remove_file(path));
            return Err(error);
        }
        Ok(name)
    }

    pub fn remove(&self, name: &str) {
        drop(fs::remove_file(self.folder.join(name)));
    }
}

/// Whether `name` is a timeline of the recording with this stem.
pub(crate) fn is_of(name: &str, stem: &str) -> bool {
    name.strip_prefix(stem).is_some_and(|rest| rest.starts_with('.') && rest.ends_with(ENDING))
}

/// Path of a timeline of the recording or folder at `path`; `None` if it does not exist, or the name is a path.
pub fn timeline_beside(path: &Path, name: &str) -> Option<PathBuf> {
    let recording = path.canonicalize().ok()?;
    let folder = if recording.is_dir() { recording.as_path() } else { recording.parent()? };
    let is_plain = Path::new(name).file_name() == Some(name.as_ref()) && name.ends_with(ENDING);
    Some(folder.join(name)).filter(|file| is_plain && file.is_file())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_are_found_beside_the_recording_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.jsonl");
        fs::write(&path, "").unwrap();
        let files = TimelineFiles::of(&path).unwrap();
        let name = files.write("20261125T031207.123456Z", "{}").unwrap();
        assert_eq!(name, "run.20261125T031207.123456Z.trace.json");
        assert!(files.write("20261125T031207.123456Z", "{}").is_err(), "nothing is written over");
        let elsewhere = folder.path().join("kept").with_extension("jsonl");
        symlink(&path, &elsewhere).unwrap();
        let place = folder.path().canonicalize().unwrap().join(&name);
        for recording in [path.as_path(), &elsewhere, folder.path()] {
            assert_eq!(timeline_beside(recording, &name), Some(place.clone()), "{}", recording.display());
        }
        assert_eq!(timeline_beside(&path, "../run.20261125T031207.123456Z.trace.json"), None);
        assert_eq!(timeline_beside(&path, "run.jsonl"), None);
        files.remove(&name);
        assert_eq!(timeline_beside(&path, &name), None);
    }

    #[test]
    fn a_name_belongs_to_one_recording() {
        assert!(is_of("run.20261125T031207Z.trace.json", "run"));
        assert!(!is_of("run-2.20261125T031207Z.trace.json", "run"));
        assert!(!is_of("run.jsonl", "run") && !is_of("running.trace.json", "run"));
        assert!(TimelineFiles::of(Path::new("/dev/null")).is_none());
    }
}
