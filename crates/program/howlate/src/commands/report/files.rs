//! Files of a report: existing files are not overwritten, and incomplete ones are removed.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::Error;
use crate::terminal;
use howlate_recording::CreateError;

/// A text or a picture, and the picture that Markdown links.
pub(super) struct Artifact {
    pub(super) content: Vec<u8>,
    pub(super) picture: Option<String>,
}

/// Paths of an artifact.
pub(super) struct ReportFiles {
    pub(super) content: PathBuf,
    pub(super) picture: Option<PathBuf>,
}

impl ReportFiles {
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(&self.content).chain(&self.picture).map(PathBuf::as_path)
    }

    /// Name of the picture as the text links it: in the same folder.
    pub(super) fn picture_name(&self) -> Option<&OsStr> {
        self.picture.as_ref()?.file_name()
    }

    /// Writes the artifact; the picture first, so that no text links a missing file.
    pub(super) fn write(&self, artifact: &Artifact) -> Result<(), Error> {
        let picture = self.picture.as_deref().zip(artifact.picture.as_deref());
        if let Some((path, picture)) = picture {
            write(path, picture.as_bytes())?;
        }
        write(&self.content, &artifact.content).inspect_err(|_| {
            if let Some((path, _)) = picture {
                drop(std::fs::remove_file(path));
            }
        })?;
        let picture_text =
            picture.map_or_else(String::new, |(path, _)| format!(", and its picture to {}", path.display()));
        let size = artifact.content.len().div_ceil(1_024);
        terminal::eprint(&format!("Written to {} ({size} KiB){picture_text}.\n", self.content.display()));
        Ok(())
    }
}

/// Fails for an existing file; called before recordings are read.
pub(super) fn must_be_new(path: &Path) -> Result<(), Error> {
    match path.symlink_metadata() {
        Ok(_) => Err(CreateError::Exists { path: path.to_owned() }.into()),
        Err(_) => Ok(()),
    }
}

/// Writes a new file, and removes it after an error.
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

/// Variables of a graphical session.
const DISPLAY_VARIABLES: [&str; 2] = ["DISPLAY", "WAYLAND_DISPLAY"];

/// Opens `path` with xdg-open; without a display, prints a hint.
pub(super) fn open_file(path: &Path) -> Result<(), Error> {
    let has_display =
        DISPLAY_VARIABLES.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    if !has_display {
        terminal::eprint_wrapped(
            "There is no display here (neither DISPLAY nor WAYLAND_DISPLAY is set): copy the file to where there is one.\n",
        );
        return Ok(());
    }
    let failed = |reason: String| Error::CannotOpen { path: path.to_owned(), reason };
    // Absolute, so that it cannot be taken for an option.
    let absolute = path.canonicalize().map_err(|error| failed(error.to_string()))?;
    let result = Command::new("xdg-open").arg(absolute).stdin(Stdio::null()).stdout(Stdio::null()).status();
    match result {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(format!("ended with {status}"))),
        Err(error) => Err(failed(format!("could not be started: {error}"))),
    }
}
