//! A cache of compiled probe programs.
//!
//! They run with the rights of the measuring user, perhaps root. So no other user may be able to write to the cache, and a
//! changed program is built again.

use std::fs::{self, DirBuilder};
use std::hash::{Hash, Hasher};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use howlate_safe_path::{PrivateFolder, TemporaryFolder, UnsafePath, check, sweep};
use sha2::{Digest, Sha256};

use crate::error::ProbeError;

/// File with the checksums of a program.
const SUMS: &str = "SHA256SUMS";

/// A folder with a subfolder for each program.
pub(crate) struct Cache {
    folder: PathBuf,
    /// The folder, if it is temporary.
    _temporary: Option<TemporaryFolder>,
    /// Why the usual folder is not used.
    pub(crate) refused: Option<UnsafePath>,
}

impl Cache {
    /// Opens `$XDG_CACHE_HOME/howlate/probes`, or a temporary folder if that is not writable or not private.
    pub(crate) fn open() -> io::Result<Self> {
        let refused = match usual_place().map(|place| PrivateFolder::create(&place)) {
            Some(Ok(private_folder)) if is_usable(private_folder.path()) => {
                sweep(private_folder.path());
                return Ok(Self {
                    folder: private_folder.path().to_owned(),
                    _temporary: None,
                    refused: None,
                });
            }
            Some(Err(refused)) => Some(refused),
            _ => None,
        };
        let temporary = TemporaryFolder::create()?;
        let folder = temporary.path().join("probes");
        DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(Self { folder, _temporary: Some(temporary), refused })
    }

    /// The folder for `ingredients`; `make` fills it if it is missing or changed.
    ///
    /// Several processes may do this at the same time: each fills a folder of its own, and the first one is used.
    pub(crate) fn get(
        &self,
        ingredients: &impl Hash,
        make: impl FnOnce(&Path) -> Result<(), ProbeError>,
    ) -> Result<PathBuf, ProbeError> {
        let place = self.folder.join(hash(ingredients));
        if is_as_made(&place) {
            return Ok(place);
        }
        let problem = |error: io::Error| ProbeError::CacheNotWritten {
            folder: self.folder.clone(),
            reason: error.to_string(),
        };
        let unfinished = TemporaryFolder::create_in(&self.folder).map_err(problem)?;
        let new_folder = unfinished.path().join("made");
        DirBuilder::new().mode(0o700).create(&new_folder).map_err(problem)?;
        make(&new_folder)?;
        fs::write(new_folder.join(SUMS), sums(&new_folder).map_err(problem)?).map_err(problem)?;
        if is_as_made(&place) {
            return Ok(place);
        }
        // Something else there would be in the way; it is not moved while it is looked at.
        drop(fs::rename(&place, unfinished.path().join("spoiled")));
        match fs::rename(&new_folder, &place) {
            Err(error) if !is_as_made(&place) => Err(problem(error)),
            _ => Ok(place),
        }
    }
}

/// Whether a folder is private and all checksums match.
fn is_as_made(place: &Path) -> bool {
    let noted = fs::read_to_string(place.join(SUMS));
    check(place).is_ok() && noted.is_ok_and(|noted| sums(place).is_ok_and(|now| now == noted))
}

/// Checksums of all files in a folder and below, in the format of `sha256sum -c`.
fn sums(folder: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    files_below(folder, &mut files)?;
    files.sort();
    let mut lines = String::new();
    for file in files {
        let name = file.strip_prefix(folder).unwrap_or(&file).display().to_string();
        if name != SUMS {
            lines.push_str(&format!("{}  {name}\n", in_hex(&Sha256::digest(fs::read(&file)?))));
        }
    }
    Ok(lines)
}

/// Links are skipped: their targets are not in the cache.
fn files_below(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()? {
            kind if kind.is_dir() => files_below(&entry.path(), files)?,
            kind if kind.is_file() => files.push(entry.path()),
            _ => return Err(io::Error::other("neither a file nor a folder")),
        }
    }
    Ok(())
}

fn in_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A name that depends on all ingredients and is the same in every process.
fn hash(ingredients: &impl Hash) -> String {
    let mut hasher = Strong(Sha256::new());
    ingredients.hash(&mut hasher);
    in_hex(&hasher.0.finalize())
}

/// A collision-resistant hasher.
struct Strong(Sha256);

impl Hasher for Strong {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let digest = self.0.clone().finalize();
        digest.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

fn usual_place() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(cache.join("howlate/probes"))
}

fn is_usable(folder: &Path) -> bool {
    tempfile::tempfile_in(folder).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache() -> Cache {
        let temporary = TemporaryFolder::create().unwrap();
        let folder = temporary.path().join("probes");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        Cache { folder, _temporary: Some(temporary), refused: None }
    }

    #[test]
    fn cached_program_is_reused() {
        let cache = cache();
        let make =
            |folder: &Path| fs::write(folder.join("probe"), "made").map_err(|_| ProbeError::NotPrepared);
        let first = cache.get(&"one", make).unwrap();
        assert_eq!(fs::read_to_string(first.join("probe")).unwrap(), "made");
        let again = cache.get(&"one", |_| Err(ProbeError::NotPrepared));
        assert_eq!(again, Ok(first.clone()));
        assert_ne!(cache.get(&"other", make).unwrap(), first);
    }

    #[test]
    fn changed_program_is_built_again() {
        let cache = cache();
        let make =
            |folder: &Path| fs::write(folder.join("probe"), "made").map_err(|_| ProbeError::NotPrepared);
        let place = cache.get(&"one", make).unwrap();
        let probe = || fs::read_to_string(place.join("probe")).unwrap();
        fs::write(place.join("probe"), "another's").unwrap();
        assert_eq!((cache.get(&"one", make), probe().as_str()), (Ok(place.clone()), "made"));
        // Something beside it could be loaded by it.
        fs::write(place.join("more"), "").unwrap();
        cache.get(&"one", make).unwrap();
        assert!(!place.join("more").exists());
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(&place, permissions).unwrap();
        assert_eq!(cache.get(&"one", |_| Err(ProbeError::NotPrepared)), Err(ProbeError::NotPrepared));
    }

    #[test]
    fn failed_build_leaves_nothing() {
        let cache = cache();
        assert_eq!(cache.get(&1, |_| Err(ProbeError::InterpreterGone)), Err(ProbeError::InterpreterGone));
        assert_eq!(fs::read_dir(&cache.folder).unwrap().count(), 0);
    }

    #[test]
    fn the_first_of_two_wins_and_both_can_go_on() {
        let cache = cache();
        let write = |folder: &Path, text: &str| {
            fs::write(folder.join("by"), text).map_err(|_| ProbeError::NotPrepared)
        };
        let mut inner = None;
        let outer = cache.get(&1, |folder| {
            inner = Some(cache.get(&1, |folder| write(folder, "inner")).unwrap());
            write(folder, "outer")
        });
        assert_eq!(outer.as_ref().ok(), inner.as_ref());
        assert_eq!(fs::read_to_string(outer.unwrap().join("by")).unwrap(), "inner");
        assert_eq!(fs::read_dir(&cache.folder).unwrap().count(), 1);
    }
}
