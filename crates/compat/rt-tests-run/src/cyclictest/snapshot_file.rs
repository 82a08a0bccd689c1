//! `/dev/shm/cyclictest<pid>`: where `SIGUSR2` leaves the status, for `get_cyclictest_snapshot`.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use howlate_procfs::Root;

/// Where the file is.
const FOLDER: &str = "/dev/shm";
/// What its name begins with; the number of the process follows.
const NAME: &str = "cyclictest";

/// Removes files of ours that belong to no process any more, because it was killed.
pub fn sweep() {
    sweep_in(Path::new(FOLDER));
}

fn sweep_in(folder: &Path) {
    let root = Root::live();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(NAME)?.parse::<u32>().ok());
        let is_ours = entry
            .metadata()
            .is_ok_and(|found| found.is_file() && found.uid() == rustix::process::geteuid().as_raw());
        if number.is_some_and(|pid| is_ours && !root.has(&format!("/proc/{pid}"))) {
            drop(fs::remove_file(entry.path()));
        }
    }
}

/// The file, removed when dropped.
pub(crate) struct StatusFile {
    path: PathBuf,
    file: File,
}

impl StatusFile {
    /// Makes the file. One that a process of the same id left behind is replaced; a link is not followed.
    pub(crate) fn create() -> io::Result<Self> {
        let path = Path::new(FOLDER).join(format!("{NAME}{}", std::process::id()));
        drop(fs::remove_file(&path));
        let file = File::create_new(&path)?;
        Ok(Self { path, file })
    }

    /// Puts `text` in place of what was there. Readers may come at any time, so it is never empty.
    pub(crate) fn store(&self, text: &str) -> io::Result<()> {
        self.file.write_all_at(text.as_bytes(), 0)?;
        self.file.set_len(text.len() as u64)
    }
}

impl Drop for StatusFile {
    fn drop(&mut self) {
        // It may have been removed already.
        drop(fs::remove_file(&self.path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_processes_that_are_gone_are_swept_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        // No Linux gives out a process id above 2^22.
        let (gone, here) =
            (format!("cyclictest{}", (1 << 22) + 1), format!("cyclictest{}", std::process::id()));
        for name in [gone.as_str(), &here, "cyclictest", "cyclictest1x", "other4194305"] {
            fs::write(at(name), "").unwrap();
        }
        sweep_in(folder.path());
        let mut left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        let mut kept = ["cyclictest", here.as_str(), "cyclictest1x", "other4194305"];
        kept.sort_unstable();
        assert_eq!(left, kept);
    }
}
