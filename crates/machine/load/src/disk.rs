//! `disk`: writes a file of 256 MiB in blocks of 1 MiB, as `dd` does, flushes it (`fsync(2)`), and
//! starts over. The file has no name, so that nothing remains of it.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use crate::workers::{Worker, Workers};

/// Bytes that each worker writes before it starts over.
pub(crate) const SIZE: u64 = 256 << 20;
/// Bytes per `write(2)`.
const BLOCK_SIZE: usize = 1 << 20;

/// Folder if none is given: on a disk even where `/tmp` is a tmpfs.
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
    let block = vec![0xa5; BLOCK_SIZE];
    loop {
        file.rewind()?;
        for _ in 0..SIZE / BLOCK_SIZE as u64 {
            file.write_all(&block)?;
            worker.counter.add(BLOCK_SIZE as u64);
            worker.duty_cycle.throttle()?;
        }
        file.sync_all()?;
        worker.duty_cycle.throttle()?;
    }
}
