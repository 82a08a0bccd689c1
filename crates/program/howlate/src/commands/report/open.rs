//! Shows a file in whatever shows such files here.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::Error;
use crate::terminal;

/// What a session with a screen sets.
const SCREENS: [&str; 2] = ["DISPLAY", "WAYLAND_DISPLAY"];

/// Gives `path` to xdg-open; without a screen, says what to do instead.
pub(super) fn open(path: &Path) -> Result<(), Error> {
    let has_screen = SCREENS.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    if !has_screen {
        terminal::tell(
            "There is no display here (neither DISPLAY nor WAYLAND_DISPLAY is set): copy the file to where there is one.\n",
        );
        return Ok(());
    }
    let failed = |reason: String| Error::CannotOpen { path: path.to_owned(), reason };
    // A whole path, so that none is taken for an option.
    let whole = path.canonicalize().map_err(|error| failed(error.to_string()))?;
    let opened = Command::new("xdg-open").arg(whole).stdin(Stdio::null()).stdout(Stdio::null()).status();
    match opened {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(format!("ended with {status}"))),
        Err(error) => Err(failed(format!("could not be started: {error}"))),
    }
}
