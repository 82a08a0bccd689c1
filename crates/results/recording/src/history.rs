//! The most recent runs of this user, saved automatically in `$XDG_DATA_HOME/howlate`.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use howlate_safe_path::PrivateFolder;

use crate::target::is_stream;
use crate::timelines::{ENDING, is_of};

/// Maximum runs; the oldest are removed.
const MOST: usize = 64;
/// Maximum bytes of all runs.
const MOST_BYTES: u64 = 256 << 20;
/// Extension of a recording, and of an unfinished one.
const RECORDING: &str = "jsonl";
const UNDER_WAY: &str = "unfinished";

/// A run's place in the history.
pub struct HistoryEntry {
    folder: Option<PathBuf>,
    name: String,
    /// Path of a recording saved elsewhere, to be linked.
    elsewhere: Option<PathBuf>,
}

impl HistoryEntry {
    /// Reserves a name for a run of `command`, whose recording goes to `out` if given.
    pub fn begin(command: &str, out: Option<&Path>, no_save: bool) -> Self {
        let goes_to_stream = out.is_some_and(is_stream);
        let folder = if no_save || goes_to_stream { None } else { folder() };
        folder.iter().for_each(|folder| rename_interrupted(folder));
        let name = folder.as_ref().map_or_else(String::new, |folder| free_name(folder, command));
        Self { folder, name, elsewhere: out.map(Path::to_owned) }
    }

    /// Whether it has a place in the history, where `howlate show` finds it as the last run.
    pub const fn has_place(&self) -> bool {
        self.folder.is_some()
    }

    /// Path of the recording in the history; `None` if it is saved elsewhere or not at all.
    pub fn path(&self) -> Option<PathBuf> {
        self.file(UNDER_WAY).filter(|_| self.elsewhere.is_none())
    }

    fn file(&self, ending: &str) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("{}.{ending}", self.name)))
    }

    /// Discards a run without results.
    pub fn forget(self) {
        // On errors it stays, like a killed run.
        self.path().into_iter().for_each(|path| drop(fs::remove_file(path)));
        self.folder.iter().for_each(|folder| remove_orphaned_timelines(folder));
    }

    /// Finishes the run; returns whether it was saved, so that it can be shown without its name.
    pub fn end(self) -> bool {
        let (Some(under_way), Some(whole), Some(folder)) =
            (self.file(UNDER_WAY), self.file(RECORDING), &self.folder)
        else {
            return false;
        };
        let saved = match &self.elsewhere {
            Some(path) => path.canonicalize().and_then(|path| symlink(path, &whole)),
            None => fs::rename(under_way, &whole),
        };
        remove_oldest(folder);
        saved.is_ok() && whole.exists()
    }
}

/// The most recent existing run.
pub fn most_recent() -> Option<PathBuf> {
    runs(&folder()?).into_iter().map(|run| run.path).find(|path| path.is_file())
}

/// The folder, created if needed; `None` if other users can read or write it. Nothing is created in another user's
/// folder, as root with that user's `HOME` would. Not by etcetera: it has a crate for one variable and its default.
fn folder() -> Option<PathBuf> {
    let set = |name| Some(PathBuf::from(std::env::var_os(name)?)).filter(|path| path.is_absolute());
    let data = set("XDG_DATA_HOME").or_else(|| Some(set("HOME")?.join(".local/share")))?;
    let path = data.join("howlate");
    howlate_safe_path::check(path.ancestors().find(|above| above.exists())?).ok()?;
    let folder = PrivateFolder::create(&path).ok()?;
    fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).ok()?;
    Some(folder.require_mode_0700().ok()?.path().to_owned())
}

/// `2026-11-22T06-47-23Z-cyclic-4711`: with the process id, as others may begin in the same second, and
/// a number if that exists.
fn free_name(folder: &Path, command: &str) -> String {
    let began = jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M-%SZ");
    let name = format!("{began}-{command}-{}", std::process::id());
    let is_free = |name: &String| {
        [RECORDING, UNDER_WAY].iter().all(|ending| !folder.join(format!("{name}.{ending}")).exists())
    };
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    std::iter::once(name.clone()).chain(numbered).find(is_free).unwrap_or(name)
}

/// Renames recordings of killed runs. A running writer holds a lock.
fn rename_interrupted(folder: &Path) {
    for path in with_ending(folder, UNDER_WAY) {
        if File::open(&path).is_ok_and(|file| file.try_lock().is_ok()) {
            // Failed renames are retried by the next run.
            drop(fs::rename(&path, path.with_extension(RECORDING)));
        }
    }
}

struct SavedRun {
    path: PathBuf,
    ended: SystemTime,
    bytes: u64,
}

/// Runs in `folder`, the most recent first.
fn runs(folder: &Path) -> Vec<SavedRun> {
    let timelines = timelines(folder);
    let run = |path: PathBuf| {
        let metadata = path.symlink_metadata().ok()?;
        let timelines_of_run = timelines.iter().filter(|(name, _)| is_of(name, &stem(&path)));
        let bytes = timelines_of_run.fold(metadata.len(), |sum, (_, bytes)| sum.saturating_add(*bytes));
        Some(SavedRun { ended: metadata.modified().ok()?, bytes, path })
    };
    let mut runs: Vec<SavedRun> = with_ending(folder, RECORDING).into_iter().filter_map(run).collect();
    runs.sort_by(|a, b| (b.ended, &b.path).cmp(&(a.ended, &a.path)));
    runs
}

/// File name without extension.
fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}

/// Timelines in the folder, with their lengths.
fn timelines(folder: &Path) -> Vec<(String, u64)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let with_lengths = entries.map(|entry| {
        let bytes = entry.metadata().map_or(0, |metadata| metadata.len());
        (entry.file_name().to_string_lossy().into_owned(), bytes)
    });
    with_lengths.filter(|(name, _)| name.ends_with(ENDING)).collect()
}

/// Removes timelines without a recording.
fn remove_orphaned_timelines(folder: &Path) {
    let of_runs = [RECORDING, UNDER_WAY].into_iter().flat_map(|ending| with_ending(folder, ending));
    let stems: Vec<String> = of_runs.map(|path| stem(&path)).collect();
    for (name, _) in timelines(folder) {
        if !stems.iter().any(|stem| is_of(&name, stem)) {
            drop(fs::remove_file(folder.join(name)));
        }
    }
}

fn with_ending(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == ending)).collect()
}

/// Removes runs above the limits, except the most recent one.
fn remove_oldest(folder: &Path) {
    let mut bytes = 0_u64;
    for (number, run) in runs(folder).into_iter().enumerate() {
        if number > 0 && (number >= MOST || bytes.saturating_add(run.bytes) > MOST_BYTES) {
            // Another process may have removed it already.
            drop(fs::remove_file(run.path));
        } else {
            bytes = bytes.saturating_add(run.bytes);
        }
    }
    remove_orphaned_timelines(folder);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history_entry(folder: &Path, name: &str, elsewhere: Option<&Path>) -> HistoryEntry {
        HistoryEntry {
            folder: Some(folder.into()),
            name: name.into(),
            elsewhere: elsewhere.map(Path::to_owned),
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let name = |run: SavedRun| run.path.file_name().unwrap().to_string_lossy().into_owned();
        runs(folder).into_iter().map(name).collect()
    }

    #[test]
    fn a_run_has_its_name_when_it_is_over() {
        let folder = tempfile::tempdir().unwrap();
        let run = history_entry(folder.path(), "a", None);
        fs::write(run.path().unwrap(), "whole").unwrap();
        assert!(names(folder.path()).is_empty());
        assert!(run.end());
        assert_eq!(names(folder.path()), ["a.jsonl"]);
        assert!(!history_entry(folder.path(), "never-written", None).end());
    }

    #[test]
    fn what_was_saved_elsewhere_is_found_from_here() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = folder.path().join("mine");
        fs::write(&elsewhere, "whole").unwrap();
        assert!(history_entry(folder.path(), "a", Some(&elsewhere)).end());
        assert_eq!(fs::read_to_string(folder.path().join("a.jsonl")).unwrap(), "whole");
        fs::remove_file(elsewhere).unwrap();
        assert_eq!(runs(folder.path()).iter().filter(|run| run.path.is_file()).count(), 0);
    }

    #[test]
    fn killed_runs_are_kept_and_those_under_way_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let [killed, going_on] = ["killed", "going-on"].map(|name| folder.path().join(name));
        let [killed, going_on] = [killed, going_on].map(|path| path.with_extension(UNDER_WAY));
        fs::write(&killed, "").unwrap();
        let writer = File::create(&going_on).unwrap();
        writer.try_lock().unwrap();
        rename_interrupted(folder.path());
        assert_eq!(names(folder.path()), ["killed.jsonl"]);
        assert!(going_on.exists());
    }

    #[test]
    fn timelines_go_with_their_run_and_take_up_room() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["old", "old-2", "gone"].map(|run| format!("{run}.20261125T031207Z{ENDING}"));
        names.iter().for_each(|name| fs::write(folder.path().join(name), "12345").unwrap());
        for (number, run) in ["old", "old-2"].into_iter().enumerate() {
            let file = File::create(folder.path().join(run).with_extension(RECORDING)).unwrap();
            let ended = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(number as u64);
            file.set_modified(ended).unwrap();
        }
        assert_eq!(runs(folder.path()).iter().map(|run| run.bytes).collect::<Vec<_>>(), [5, 5]);
        remove_oldest(folder.path());
        let there = |name: &String| folder.path().join(name).exists();
        assert_eq!(names.each_ref().map(there), [true, true, false], "of no run");
        fs::write(folder.path().join(&names[1]), vec![0; 8]).unwrap();
        File::options().write(true).open(folder.path().join(&names[1])).unwrap().set_len(MOST_BYTES).unwrap();
        remove_oldest(folder.path());
        assert_eq!(
            names.each_ref().map(there),
            [false, true, false],
            "the older one goes with its recording"
        );
    }

    #[test]
    fn the_oldest_go_first() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..MOST + 3 {
            let file = File::create(folder.path().join(format!("{number}.jsonl"))).unwrap();
            file.set_len(1).unwrap();
            let ended = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(number as u64);
            file.set_modified(ended).unwrap();
        }
        remove_oldest(folder.path());
        let names = names(folder.path());
        assert_eq!((names.len(), names[0].as_str()), (MOST, "66.jsonl"));
        File::create(folder.path().join("large.jsonl")).unwrap().set_len(MOST_BYTES).unwrap();
        remove_oldest(folder.path());
        assert_eq!(self::names(folder.path()), ["large.jsonl"]);
    }
}
