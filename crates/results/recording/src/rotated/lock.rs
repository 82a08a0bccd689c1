//! One process writes to a folder at a time, and says which it is.

use std::fs::{File, Metadata};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use howlate_safe_path::{PrivateFolder, foreign};

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
    pub(super) fn take(folder: &PrivateFolder, holder: &str) -> Result<Self, NotRotated> {
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
    match foreign::open_file_nofollow(&folder.join(NAME)) {
        Ok(file) => lock::lock(&file).is_ok(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// The process that writes to a folder, if one does and says which it is: `process 7, since …`. It is believed where it has that file
/// open, and nobody else can have written it.
pub fn recorder_of(folder: &Path) -> Option<u32> {
    let file = foreign::open_file_nofollow(&folder.join(NAME)).ok()?;
    if lock::lock(&file).is_ok() {
        return None;
    }
    let mut holder = String::new();
    (&file).take(LONGEST).read_to_string(&mut holder).ok()?;
    let pid = holder.strip_prefix("process ")?.split(',').next()?.parse().ok()?;
    is_held_by(&file.metadata().ok()?, pid).then_some(pid)
}

fn is_held_by(found: &Metadata, pid: u32) -> bool {
    let process = format!("/proc/{pid}");
    let is_its_own = std::fs::metadata(&process).is_ok_and(|process| process.uid() == found.uid());
    let is_it = |file: Metadata| (file.dev(), file.ino()) == (found.dev(), found.ino());
    let open = std::fs::read_dir(format!("{process}/fd")).into_iter().flatten().flatten();
    is_its_own && open.filter_map(|one| std::fs::metadata(one.path()).ok()).any(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever is asked to keep something gets a signal, which ends most programs.
    #[test]
    fn only_whoever_holds_a_folder_is_believed_to_record_there() {
        let above = tempfile::tempdir().unwrap();
        let folder = PrivateFolder::create(&above.path().join("kept")).unwrap();
        let of = |text: &str| {
            let lock = Lock::take(&folder, text).unwrap();
            let found = recorder_of(folder.path());
            drop(lock);
            found
        };
        let own = std::process::id();
        assert_eq!(of(&format!("process {own}, since today: howlate record")), Some(own));
        let mut other = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        assert_eq!(
            of(&format!("process {}, since today: howlate record", other.id())),
            None,
            "it has nothing of it open"
        );
        assert_eq!((of("process 1, since then"), of("nobody")), (None, None));
        assert_eq!(recorder_of(folder.path()), None, "nobody holds it any more");
        drop((other.kill(), other.wait()));
    }
}
