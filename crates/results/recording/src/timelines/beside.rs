//! Where the files are: in the recording's folder, under its name.
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

/// What their names end in.
pub(crate) const ENDING: &str = ".trace.json";

/// Writes and removes the files beside one recording.
#[derive(Clone, Debug)]
pub struct Beside {
    folder: PathBuf,
    stem: String,
}

impl Beside {
    /// Those of the recording at `path`; `None` where what is written there is gone at once, or its name is no text.
    pub fn of(path: &Path) -> Option<Self> {
        let stem = path.file_stem()?.to_str()?.to_owned();
        let folder = path.parent().unwrap_or(Path::new(""));
        (!is_stream(path)).then(|| Self { folder: folder.to_owned(), stem })
    }

    /// Writes one, named after a moment; returns its name.
    ///
    /// # Errors
    ///
    /// The kernel's; nothing is written over.
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

    /// Removes one that it has written.
    pub fn remove(&self, name: &str) {
        drop(fs::remove_file(self.folder.join(name)));
    }
}

/// Whether a file of this name is one beside the recording whose name, without its ending, is `stem`.
pub(crate) fn is_of(name: &str, stem: &str) -> bool {
    name.strip_prefix(stem).is_some_and(|rest| rest.starts_with('.') && rest.ends_with(ENDING))
}

/// The file of this name beside the recording at `path`, or in the folder there; `None` where it is not, or the name is that of
/// a place somewhere else.
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
        let beside = Beside::of(&path).unwrap();
        let name = beside.write("20261125T031207.123456Z", "{}").unwrap();
        assert_eq!(name, "run.20261125T031207.123456Z.trace.json");
        assert!(beside.write("20261125T031207.123456Z", "{}").is_err(), "nothing is written over");
        let elsewhere = folder.path().join("kept").with_extension("jsonl");
        symlink(&path, &elsewhere).unwrap();
        let place = folder.path().canonicalize().unwrap().join(&name);
        for recording in [path.as_path(), &elsewhere, folder.path()] {
            assert_eq!(timeline_beside(recording, &name), Some(place.clone()), "{}", recording.display());
        }
        assert_eq!(timeline_beside(&path, "../run.20261125T031207.123456Z.trace.json"), None);
        assert_eq!(timeline_beside(&path, "run.jsonl"), None);
        beside.remove(&name);
        assert_eq!(timeline_beside(&path, &name), None);
    }

    #[test]
    fn a_name_belongs_to_one_recording() {
        assert!(is_of("run.20261125T031207Z.trace.json", "run"));
        assert!(!is_of("run-2.20261125T031207Z.trace.json", "run"));
        assert!(!is_of("run.jsonl", "run") && !is_of("running.trace.json", "run"));
        assert!(Beside::of(Path::new("/dev/null")).is_none());
    }
}
