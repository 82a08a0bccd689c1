//! The file of one setting.

use std::fs::File;
use std::io::{self, Write};

use howlate_model::SettingWrite as Setting;
use howlate_procfs::chosen;

use crate::thread::OfThread;

/// The files of a kernel: those of the live one, or of one that a test has written the script of.
pub(crate) trait Kernel {
    /// A setting's value; of a choice, the one that is marked.
    fn read(&self, path: &str) -> io::Result<String>;
    /// Writes a value at once, as the kernel wants it. Makes no file.
    fn write(&self, path: &str, value: &str) -> io::Result<()>;
}

/// The kernel that runs here.
pub(crate) struct Live;

impl Kernel for Live {
    fn read(&self, path: &str) -> io::Result<String> {
        read(path)
    }

    fn write(&self, path: &str, value: &str) -> io::Result<()> {
        write(path, value)
    }
}

/// A setting's value. Of a choice such as `always [madvise] never` or `none (full)`, the one that is marked.
pub(crate) fn read(path: &str) -> io::Result<String> {
    if let Some(thread) = OfThread::named(path) {
        return thread.read();
    }
    let text = std::fs::read_to_string(path)?;
    Ok(chosen(&text).unwrap_or(text.trim()).to_owned())
}

/// Writes a value at once, as the kernel wants it. Makes no file.
pub(crate) fn write(path: &str, value: &str) -> io::Result<()> {
    let written = match OfThread::named(path) {
        Some(thread) => thread.write(value),
        None => File::options()
            .write(true)
            .truncate(true)
            .open(path)
            .and_then(|mut file| file.write_all(value.as_bytes())),
    };
    match &written {
        Ok(()) => log::debug!("{path} = {value}"),
        Err(error) => log::debug!("{path} = {value}: {error}"),
    }
    written
}

/// What the file holds, if that is not what it held before; or why it cannot be read. A thread that has ended holds nothing.
pub fn not_as_before(write: &Setting) -> Option<String> {
    let now = read_or_why(&write.path)?;
    (!is_same(&now, &write.now)).then_some(now)
}

/// A setting's value, or why it cannot be read; `None` for one of a thread that has ended.
pub(crate) fn read_or_why(path: &str) -> Option<String> {
    match read(path) {
        Err(error) if has_ended(path, &error) => None,
        found => Some(found.unwrap_or_else(|error| error.to_string())),
    }
}

/// Whether it is not to be had because it was a thread's that has ended.
pub(crate) fn has_ended(path: &str, error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound && OfThread::named(path).is_some()
}

/// Whether two texts are the same value: the kernel shows all groups of a mask of CPUs, whatever was written.
///
/// Source: Documentation/core-api/printk-formats.rst, `%*pb`.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    one == other || (is_mask(one) || is_mask(other)) && bits(one).is_some_and(|of| bits(other) == Some(of))
}

/// Groups of 32 bits with commas between.
fn is_mask(text: &str) -> bool {
    let mut groups = text.split(',').skip(1).peekable();
    groups.peek().is_some() && groups.all(|group| group.len() == 8) && bits(text).is_some()
}

fn bits(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(|one| *one != ',').collect();
    let is_hexadecimal = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hexadecimal.then(|| digits.trim_start_matches('0').to_lowercase())
}

/// Whether this process may change it.
pub(crate) fn is_writable(path: &str) -> bool {
    OfThread::named(path).is_some() || File::options().write(true).open(path).is_ok()
}

/// Whether it is a setting that may be put back: one of the kernel's, or a thread's.
pub(crate) fn can_be_put_back(path: &str) -> bool {
    is_setting(path) || OfThread::named(path).is_some()
}

/// Whether a path is one of the kernel's settings.
pub(crate) fn is_setting(path: &str) -> bool {
    let climbs = path.split('/').any(|part| part == "..");
    !climbs && ["/sys/", "/proc/sys/", "/proc/irq/"].iter().any(|folder| path.starts_with(folder))
}

/// A kernel with one setting, that takes values as its script says.
#[cfg(test)]
pub(crate) mod scripted {
    use super::{Kernel, io};
    use std::cell::RefCell;

    pub(crate) struct Scripted {
        value: RefCell<String>,
        write: fn(&str) -> io::Result<String>,
    }

    impl Scripted {
        pub(crate) fn new(value: &str, write: fn(&str) -> io::Result<String>) -> Self {
            Self { value: RefCell::new(value.to_owned()), write }
        }
    }

    impl Kernel for Scripted {
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
    fn the_chosen_one_of_several_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("enabled");
        std::fs::write(&path, "always [madvise] never\n").unwrap();
        assert_eq!(read(path.to_str().unwrap()).unwrap(), "madvise");
    }

    #[test]
    fn a_mask_is_the_same_with_and_without_groups_of_zeros() {
        for (one, other) in
            [("1", "00000000,00000001"), ("0", "00000000,00000000"), ("ff,FFFFFFFF", "ff,ffffffff")]
        {
            assert!(is_same(one, other) && is_same(other, one), "{one} {other}");
        }
        for (one, other) in
            [("2", "0,2"), ("10", "010"), ("1", "00000001,00000000"), ("0-1", "0,1"), ("", "0")]
        {
            assert!(!is_same(one, other) && !is_same(other, one), "{one} {other}");
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
    fn a_setting_that_is_not_there_is_not_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none");
        assert!(write(path.to_str().unwrap(), "1").is_err());
        assert!(!path.exists());
    }
}
