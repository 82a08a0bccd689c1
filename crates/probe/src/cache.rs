//! Programs once made, kept for the next time.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::Failed;

/// A folder with one folder for each program that was made.
pub(crate) struct Cache {
    folder: PathBuf,
    /// Where nothing can be kept, the folder goes with this.
    _temporary: Option<TempDir>,
}

impl Cache {
    /// `$XDG_CACHE_HOME/howlate/probes`, or where that cannot be written to, a folder that goes in the end.
    pub(crate) fn open() -> io::Result<Self> {
        let kept = usual_place().filter(|folder| is_usable(folder));
        if let Some(folder) = kept {
            return Ok(Self { folder, _temporary: None });
        }
        let temporary = tempfile::Builder::new().prefix("howlate-probes-").tempdir()?;
        Ok(Self { folder: temporary.path().to_owned(), _temporary: Some(temporary) })
    }

    /// The folder of what `ingredients` make; `make` fills it if it is not there yet.
    ///
    /// Several howlates may do so at the same time: each makes its own, and the first to be done wins.
    pub(crate) fn get(
        &self,
        ingredients: &impl Hash,
        make: impl FnOnce(&Path) -> Result<(), Failed>,
    ) -> Result<PathBuf, Failed> {
        let place = self.folder.join(format!("{:016x}", hash(ingredients)));
        if place.is_dir() {
            return Ok(place);
        }
        let problem = |error: io::Error| Failed::CacheNotWritten {
            folder: self.folder.clone(),
            words: error.to_string(),
        };
        let unfinished =
            tempfile::Builder::new().prefix("making-").tempdir_in(&self.folder).map_err(problem)?;
        make(unfinished.path())?;
        match fs::rename(unfinished.path(), &place) {
            Ok(()) => drop(unfinished.keep()),
            Err(_) if place.is_dir() => {}
            Err(error) => return Err(problem(error)),
        }
        Ok(place)
    }
}

/// A number that changes with any of them, from one howlate to the next the same.
fn hash(ingredients: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    ingredients.hash(&mut hasher);
    hasher.finish()
}

fn usual_place() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(cache.join("howlate/probes"))
}

fn is_usable(folder: &Path) -> bool {
    fs::create_dir_all(folder).is_ok() && tempfile::tempfile_in(folder).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache() -> Cache {
        let temporary = tempfile::tempdir().unwrap();
        Cache { folder: temporary.path().to_owned(), _temporary: Some(temporary) }
    }

    #[test]
    fn what_was_made_is_not_made_again() {
        let cache = cache();
        let make = |folder: &Path| fs::write(folder.join("probe"), "made").map_err(|_| Failed::NotPrepared);
        let first = cache.get(&"one", make).unwrap();
        assert_eq!(fs::read_to_string(first.join("probe")).unwrap(), "made");
        let again = cache.get(&"one", |_| Err(Failed::NotPrepared));
        assert_eq!(again, Ok(first.clone()));
        assert_ne!(cache.get(&"other", make).unwrap(), first);
    }

    #[test]
    fn what_fails_leaves_nothing() {
        let cache = cache();
        assert_eq!(cache.get(&1, |_| Err(Failed::InterpreterGone)), Err(Failed::InterpreterGone));
        assert_eq!(fs::read_dir(&cache.folder).unwrap().count(), 0);
    }

    #[test]
    fn the_first_of_two_wins_and_both_can_go_on() {
        let cache = cache();
        let write =
            |folder: &Path, text: &str| fs::write(folder.join("by"), text).map_err(|_| Failed::NotPrepared);
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
