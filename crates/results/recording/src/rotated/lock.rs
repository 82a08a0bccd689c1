//! Lock of a folder: only one process records there.

use std::fs::{File, Metadata};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use howlate_safe_path::{PrivateFolder, foreign};

use super::RotationError;
use crate::lock;

const NAME: &str = ".howlate-record";
/// Maximum bytes of the holder's description.
const LONGEST: u64 = 1_024;

/// Locked until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Lock {
    pub(super) fn take(folder: &PrivateFolder, holder: &str) -> Result<Self, RotationError> {
        let mut file = folder.file(NAME)?;
        if lock::lock(&file).is_err() {
            let mut description = String::new();
            drop((&file).take(LONGEST).read_to_string(&mut description));
            let holder = if description.is_empty() {
                "a process that does not say which".to_owned()
            } else {
                description
            };
            return Err(RotationError::Held { path: folder.path().to_owned(), holder });
        }
        // The description is for error messages of others; failing to write it does not matter.
        drop(file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(holder.as_bytes())));
        Ok(Self { file })
    }

    pub(super) fn length(&self) -> u64 {
        self.file.metadata().map_or(0, |metadata| metadata.len())
    }
}

/// Whether no process records there; `false` if that cannot be determined.
pub fn has_ended(folder: &Path) -> bool {
    match foreign::open_file_nofollow(&folder.join(NAME)) {
        Ok(file) => lock::lock(&file).is_ok(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// Process id of the recorder, from its description `process 7, since …`. Trusted only if that process has the file
/// open and only its user can have written it.
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

fn is_held_by(lock_metadata: &Metadata, pid: u32) -> bool {
    let process = format!("/proc/{pid}");
    let is_its_own = std::fs::metadata(&process).is_ok_and(|process| process.uid() == lock_metadata.uid());
    let is_lock_file =
        |file: Metadata| (file.dev(), file.ino()) == (lock_metadata.dev(), lock_metadata.ino());
    let open = std::fs::read_dir(format!("{process}/fd")).into_iter().flatten().flatten();
    is_its_own && open.filter_map(|descriptor| std::fs::metadata(descriptor.path()).ok()).any(is_lock_file)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests are signals, which end most programs.
    #[test]
    fn only_whoever_holds_a_folder_is_believed_to_record_there() {
        let above = tempfile::tempdir().unwrap();
        let folder = PrivateFolder::create(&above.path().join("kept")).unwrap();
        let recorder_with = |text: &str| {
            let lock = Lock::take(&folder, text).unwrap();
            let recorder = recorder_of(folder.path());
            drop(lock);
            recorder
        };
        let own = std::process::id();
        assert_eq!(recorder_with(&format!("process {own}, since today: howlate record")), Some(own));
        let mut other = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        assert_eq!(
            recorder_with(&format!("process {}, since today: howlate record", other.id())),
            None,
            "it has nothing of it open"
        );
        assert_eq!((recorder_with("process 1, since then"), recorder_with("nobody")), (None, None));
        assert_eq!(recorder_of(folder.path()), None, "nobody holds it any more");
        drop((other.kill(), other.wait()));
    }
}
