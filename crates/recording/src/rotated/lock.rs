//! One process writes to a folder at a time, and says which it is.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::Path;

use howlate_safe_path::Folder;

use super::NotRotated;
use crate::lock;

const NAME: &str = ".howlate-record";
/// What a holder says of itself is shorter.
const LONGEST: u64 = 1_024;

/// Held as long as this is there.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Lock {
    pub(super) fn take(folder: &Folder, holder: &str) -> Result<Self, NotRotated> {
        let mut file = folder.file(NAME)?;
        if lock::lock(&file).is_err() {
            let mut known = String::new();
            drop((&file).take(LONGEST).read_to_string(&mut known));
            let holder =
                if known.is_empty() { "a process that does not say which".to_owned() } else { known };
            return Err(NotRotated::Held { path: folder.path().to_owned(), holder });
        }
        // Whoever is refused is told by these words; that they cannot be written is no reason to keep nothing.
        drop(file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(holder.as_bytes())));
        Ok(Self { file })
    }

    pub(super) fn length(&self) -> u64 {
        self.file.metadata().map_or(0, |found| found.len())
    }
}

/// Whether nobody writes to a folder any more; not where that cannot be seen.
pub fn has_ended(folder: &Path) -> bool {
    match File::open(folder.join(NAME)) {
        Ok(file) => lock::lock(&file).is_ok(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// The process that writes to a folder, if one does and says which it is: `process 7, since …`.
pub fn recorder_of(folder: &Path) -> Option<u32> {
    let file = File::open(folder.join(NAME)).ok()?;
    if lock::lock(&file).is_ok() {
        return None;
    }
    let mut holder = String::new();
    (&file).take(LONGEST).read_to_string(&mut holder).ok()?;
    holder.strip_prefix("process ")?.split(',').next()?.parse().ok()
}
