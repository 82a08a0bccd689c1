//! The files that a report goes to: nothing is written over, and nothing incomplete is left behind.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::terminal;
use howlate_recording::CreateError;

/// What was made: a text or a picture, and the picture that Markdown links.
pub(super) struct Artifact {
    pub(super) content: Vec<u8>,
    pub(super) picture: Option<String>,
}

/// Where these go.
pub(super) struct Files {
    pub(super) content: PathBuf,
    pub(super) picture: Option<PathBuf>,
}

impl Files {
    pub(super) fn all(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(&self.content).chain(&self.picture).map(PathBuf::as_path)
    }

    /// What the text calls the picture, which stands beside it.
    pub(super) fn picture_name(&self) -> Option<&OsStr> {
        self.picture.as_ref()?.file_name()
    }

    /// Writes what was made; the picture first, so that no text links what is missing.
    pub(super) fn write(&self, made: &Artifact) -> Result<(), Error> {
        let picture = self.picture.as_deref().zip(made.picture.as_deref());
        if let Some((path, picture)) = picture {
            write(path, picture.as_bytes())?;
        }
        write(&self.content, &made.content).inspect_err(|_| {
            if let Some((path, _)) = picture {
                drop(std::fs::remove_file(path));
            }
        })?;
        let beside =
            picture.map_or_else(String::new, |(path, _)| format!(", and its picture to {}", path.display()));
        let size = made.content.len().div_ceil(1_024);
        terminal::say(&format!("Written to {} ({size} KiB){beside}.\n", self.content.display()));
        Ok(())
    }
}

/// Says so before anything is read, rather than after.
pub(super) fn must_be_new(path: &Path) -> Result<(), Error> {
    match path.symlink_metadata() {
        Ok(_) => Err(CreateError::Exists { path: path.to_owned() }.into()),
        Err(_) => Ok(()),
    }
}

/// Writes a new file; what is incomplete is not left behind.
fn write(path: &Path, content: &[u8]) -> Result<(), Error> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => CreateError::Exists { path: path.to_owned() },
        _ => CreateError::Io { path: path.to_owned(), source: error },
    };
    let mut file = File::create_new(path).map_err(failed)?;
    file.write_all(content).map_err(|error| {
        drop(std::fs::remove_file(path));
        failed(error).into()
    })
}
