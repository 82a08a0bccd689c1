//! `disk`: writes a file of 256 MiB in pieces of 1 MiB, as `dd` does, waits until the disk has it
//! (`fsync(2)`), and begins again at its start. The file has no name, so that nothing is left of it.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use crate::workers::{Worker, Workers};

/// Bytes that each worker writes before it begins again.
pub(crate) const SIZE: u64 = 256 << 20;
/// Bytes per `write(2)`.
const PIECE: usize = 1 << 20;

/// Where it writes when no folder is given: a place that is on a disk even where `/tmp` is memory.
pub(crate) fn default_folder() -> PathBuf {
    let on_disk = Path::new("/var/tmp");
    if on_disk.is_dir() { on_disk.to_owned() } else { std::env::temp_dir() }
}

pub(crate) fn start(workers: &mut Workers<'_>, count: usize, folder: Option<&str>) -> io::Result<()> {
    let folder = folder.map_or_else(default_folder, PathBuf::from);
    for number in 0..count {
        let file = tempfile::tempfile_in(&folder)?;
        workers.add(number, None, |worker| write_on(worker, file))?;
    }
    Ok(())
}

fn write_on(mut worker: Worker<'_>, mut file: File) -> io::Result<()> {
    let piece = vec![0xa5; PIECE];
    loop {
        file.rewind()?;
        for _ in 0..SIZE / PIECE as u64 {
            file.write_all(&piece)?;
            worker.counter.add(PIECE as u64);
            worker.duty_cycle.throttle()?;
        }
        file.sync_all()?;
        worker.duty_cycle.throttle()?;
    }
}
