//! `files`: on each CPU, a process that repeatedly walks a directory tree and reads the size of every entry
//! within one file system, as `du -x` does.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::workers::{Worker, Workers};

/// The root of the tree by default.
pub(crate) const DEFAULT: &str = "/";

pub(crate) fn start(workers: &mut Workers<'_>, count: usize, folder: Option<&str>) -> io::Result<()> {
    let root = PathBuf::from(folder.unwrap_or(DEFAULT));
    for number in 0..count {
        let cpu = workers.cpu(number);
        workers.add(number, cpu, |worker| walk(worker, &root))?;
    }
    Ok(())
}

fn walk(mut worker: Worker<'_>, root: &Path) -> io::Result<()> {
    let device = root.metadata()?.dev();
    loop {
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            // Unreadable and vanished entries are skipped, as `du` does.
            let Ok(entries) = folder.read_dir() else { continue };
            for entry in entries.flatten() {
                let Ok(metadata) = entry.path().symlink_metadata() else { continue };
                worker.counter.add(1);
                worker.duty_cycle.throttle()?;
                if metadata.is_dir() && metadata.dev() == device {
                    folders.push(entry.path());
                }
            }
        }
        // Each pass counts as well, so that even an empty tree counts.
        worker.counter.add(1);
        worker.duty_cycle.throttle()?;
    }
}
