//! The file of one setting.

use std::fs::File;
use std::io::{self, Write};

/// A setting's value. Of a choice such as `always [madvise] never`, the one in brackets.
pub(crate) fn read(path: &str) -> io::Result<String> {
    let text = std::fs::read_to_string(path)?;
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    Ok(chosen.map_or(text.trim(), |(chosen, _)| chosen).to_owned())
}

/// Writes a value at once, as the kernel wants it. Makes no file.
pub(crate) fn write(path: &str, value: &str) -> io::Result<()> {
    File::options().write(true).truncate(true).open(path)?.write_all(value.as_bytes())
}

/// Whether this process may change it.
pub(crate) fn is_writable(path: &str) -> bool {
    File::options().write(true).open(path).is_ok()
}

/// Whether a path is one of the kernel's settings.
pub(crate) fn is_setting(path: &str) -> bool {
    let climbs = path.split('/').any(|part| part == "..");
    !climbs && (path.starts_with("/sys/") || path.starts_with("/proc/sys/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_one_of_several_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("enabled");
        std::fs::write(&path, "always [madvise] never\n").unwrap();
        assert_eq!(read(path.to_str().unwrap()).unwrap(), "madvise");
    }

    #[test]
    fn a_setting_that_is_not_there_is_not_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none");
        assert!(write(path.to_str().unwrap(), "1").is_err());
        assert!(!path.exists());
    }
}
