//! `/dev/shm/cyclictest<pid>`: the status that `SIGUSR2` stores for `get_cyclictest_snapshot`.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use howlate_procfs::Root;

const FOLDER: &str = "/dev/shm";
/// Start of the file name; the process id follows.
const NAME_PREFIX: &str = "cyclictest";

/// Removes files of this user whose process was killed.
pub fn sweep() {
    sweep_in(Path::new(FOLDER));
}

fn sweep_in(folder: &Path) {
    let root = Root::live();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(NAME_PREFIX)?.parse::<u32>().ok());
        let is_own_file = entry.metadata().is_ok_and(|metadata| {
            metadata.is_file() && metadata.uid() == rustix::process::geteuid().as_raw()
        });
        if pid.is_some_and(|pid| is_own_file && !root.has(&format!("/proc/{pid}"))) {
            drop(fs::remove_file(entry.path()));
        }
    }
}

/// The file. Dropping it removes the file.
pub(crate) struct StatusFile {
    path: PathBuf,
    file: File,
}

impl StatusFile {
    /// Creates the file. A file left behind by a process with this id is replaced; a link is not followed.
    pub(crate) fn create() -> io::Result<Self> {
        let path = Path::new(FOLDER).join(format!("{NAME_PREFIX}{}", std::process::id()));
        drop(fs::remove_file(&path));
        let file = File::create_new(&path)?;
        Ok(Self { path, file })
    }

    /// Replaces the content by `text`. The file is never empty, because it may be read at any time.
    pub(crate) fn store(&self, text: &str) -> io::Result<()> {
        self.file.write_all_at(text.as_bytes(), 0)?;
        self.file.set_len(text.len() as u64)
    }
}

impl Drop for StatusFile {
    fn drop(&mut self) {
        // The file may have been removed already.
        drop(fs::remove_file(&self.path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_ended_processes_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        // Process ids are at most 2^22.
        let (ended, running) =
            (format!("cyclictest{}", (1 << 22) + 1), format!("cyclictest{}", std::process::id()));
        for name in [ended.as_str(), &running, "cyclictest", "cyclictest1x", "other4194305"] {
            fs::write(path(name), "").unwrap();
        }
        sweep_in(folder.path());
        let mut remaining: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        remaining.sort();
        let mut expected = ["cyclictest", running.as_str(), "cyclictest1x", "other4194305"];
        expected.sort_unstable();
        assert_eq!(remaining, expected);
    }
}
