//! `files`: on each CPU, a process that walks a tree again and again and asks for the size of everything in
//! it, as `du -x` does: within one file system.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::workers::{Worker, Workers};

/// Where it begins when nothing else is asked for.
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
            // What may not be read, or is gone meanwhile, is passed over, as `du` does.
            let Ok(entries) = folder.read_dir() else { continue };
            for entry in entries.flatten() {
                let Ok(about) = entry.path().symlink_metadata() else { continue };
                worker.counter.add(1);
                worker.duty_cycle.throttle()?;
                if about.is_dir() && about.dev() == device {
                    folders.push(entry.path());
                }
            }
        }
        // Even an empty tree is looked at.
        worker.counter.add(1);
        worker.duty_cycle.throttle()?;
    }
}
