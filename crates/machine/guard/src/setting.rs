//! The file of one setting.

use std::fs::File;
use std::io::{self, Write};

use howlate_model::SettingWrite;
use howlate_procfs::bracketed_choice;

use crate::thread_setting::ThreadSetting;

/// Access to setting files: those of the kernel, or scripted ones in tests.
pub(crate) trait SettingFiles {
    /// A setting's value; of a list of choices, the one in brackets.
    fn read(&self, path: &str) -> io::Result<String>;
    /// Writes a value in a single write(2), as the kernel requires. Creates no file.
    fn write(&self, path: &str, value: &str) -> io::Result<()>;
}

/// The files of the running kernel.
pub(crate) struct LiveFiles;

impl SettingFiles for LiveFiles {
    fn read(&self, path: &str) -> io::Result<String> {
        read(path)
    }

    fn write(&self, path: &str, value: &str) -> io::Result<()> {
        write(path, value)
    }
}

/// A setting's value. Of choices such as `always [madvise] never` or `none (full)`, the one in brackets.
pub(crate) fn read(path: &str) -> io::Result<String> {
    if let Some(thread) = ThreadSetting::parse(path) {
        return thread.read();
    }
    let text = std::fs::read_to_string(path)?;
    Ok(bracketed_choice(&text).unwrap_or(text.trim()).to_owned())
}

/// Writes a value in a single write(2), as the kernel requires. Creates no file.
pub(crate) fn write(path: &str, value: &str) -> io::Result<()> {
    let result = match ThreadSetting::parse(path) {
        Some(thread) => thread.write(value),
        None => File::options()
            .write(true)
            .truncate(true)
            .open(path)
            .and_then(|mut file| file.write_all(value.as_bytes())),
    };
    match &result {
        Ok(()) => log::debug!("{path} = {value}"),
        Err(error) => log::debug!("{path} = {value}: {error}"),
    }
    result
}

/// The file's value if it differs from before, or why it cannot be read. `None` as well for a thread that has ended.
pub fn changed_value(write: &SettingWrite) -> Option<String> {
    let now = read_or_error(&write.path)?;
    (!is_same_value(&now, &write.now)).then_some(now)
}

/// A setting's value, or why it cannot be read; `None` for a thread that has ended.
pub(crate) fn read_or_error(path: &str) -> Option<String> {
    match read(path) {
        Err(error) if has_ended(path, &error) => None,
        result => Some(result.unwrap_or_else(|error| error.to_string())),
    }
}

/// Whether `error` means that the setting's thread has ended.
pub(crate) fn has_ended(path: &str, error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound && ThreadSetting::parse(path).is_some()
}

/// Whether two texts are the same value: the kernel shows all groups of a mask of CPUs, whatever was written.
///
/// Source: Documentation/core-api/printk-formats.rst, `%*pb`.
pub(crate) fn is_same_value(left: &str, right: &str) -> bool {
    left == right || (is_mask(left) || is_mask(right)) && bits(left).is_some_and(|of| bits(right) == Some(of))
}

/// Groups of 32 bits separated by commas.
fn is_mask(text: &str) -> bool {
    let mut groups = text.split(',').skip(1).peekable();
    groups.peek().is_some() && groups.all(|group| group.len() == 8) && bits(text).is_some()
}

fn bits(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(|digit| *digit != ',').collect();
    let is_hexadecimal = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hexadecimal.then(|| digits.trim_start_matches('0').to_lowercase())
}

/// Whether this process may change the setting.
pub(crate) fn is_writable(path: &str) -> bool {
    ThreadSetting::parse(path).is_some() || File::options().write(true).open(path).is_ok()
}

/// Whether the journal may restore it: a setting of the kernel or of a thread.
pub(crate) fn is_restorable(path: &str) -> bool {
    is_setting(path) || ThreadSetting::parse(path).is_some()
}

/// Whether a path is a setting of the kernel.
pub(crate) fn is_setting(path: &str) -> bool {
    let climbs = path.split('/').any(|part| part == "..");
    !climbs && ["/sys/", "/proc/sys/", "/proc/irq/"].iter().any(|folder| path.starts_with(folder))
}

/// One setting whose writes are handled by a function.
#[cfg(test)]
pub(crate) mod scripted {
    use super::{SettingFiles, io};
    use std::cell::RefCell;

    pub(crate) struct ScriptedFiles {
        value: RefCell<String>,
        write: fn(&str) -> io::Result<String>,
    }

    impl ScriptedFiles {
        pub(crate) fn new(value: &str, write: fn(&str) -> io::Result<String>) -> Self {
            Self { value: RefCell::new(value.to_owned()), write }
        }
    }

    impl SettingFiles for ScriptedFiles {
        fn read(&self, _: &str) -> io::Result<String> {
            Ok(self.value.borrow().clone())
        }

        fn write(&self, _: &str, value: &str) -> io::Result<()> {
            *self.value.borrow_mut() = (self.write)(value)?;
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_in_brackets_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("enabled");
        std::fs::write(&path, "always [madvise] never\n").unwrap();
        assert_eq!(read(path.to_str().unwrap()).unwrap(), "madvise");
    }

    #[test]
    fn a_mask_is_the_same_with_and_without_groups_of_zeros() {
        for (left, right) in
            [("1", "00000000,00000001"), ("0", "00000000,00000000"), ("ff,FFFFFFFF", "ff,ffffffff")]
        {
            assert!(is_same_value(left, right) && is_same_value(right, left), "{left} {right}");
        }
        for (left, right) in
            [("2", "0,2"), ("10", "010"), ("1", "00000001,00000000"), ("0-1", "0,1"), ("", "0")]
        {
            assert!(!is_same_value(left, right) && !is_same_value(right, left), "{left} {right}");
        }
    }

    #[test]
    fn settings_stand_in_three_places() {
        for path in ["/sys/kernel/mm/ksm/run", "/proc/sys/vm/swappiness", "/proc/irq/24/smp_affinity_list"] {
            assert!(is_setting(path), "{path}");
        }
        for path in ["/etc/passwd", "/proc/1/mem", "/proc/irq/../1/mem", "/dev/cpu_dma_latency"] {
            assert!(!is_setting(path), "{path}");
        }
    }

    #[test]
    fn a_missing_setting_is_not_created() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none");
        assert!(write(path.to_str().unwrap(), "1").is_err());
        assert!(!path.exists());
    }
}
