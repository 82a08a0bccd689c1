//! The journal of active changes on disk, locked by the processes that made them.

use std::fs::{File, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use howlate_model::Caveat;
use howlate_procfs::Root;
use howlate_safe_path::{PrivateFolder, UnsafePath, foreign};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

use crate::saved_setting::{Changes, SavedSetting};
use crate::setting::{is_restorable, is_same_value, read};

/// Folder of root's journal; `/run` is emptied at boot, when settings are reset as well. Not `/run/howlate`, which has to be
/// accessible for all: a recorder of another user listens there, and systemd removes the folder when the recorder ends.
const ROOT_FOLDER: &str = "/run/howlate-journal";
/// Folder of root's journal in earlier versions.
const PREVIOUS_ROOT_FOLDER: &str = "/run/howlate";
const FILE_NAME: &str = "settings";

/// The journal is compacted when it has grown by this many bytes, and to twice the size of the active changes: a run changes
/// settings for each of its turns, for hours.
const MAX_GROWTH: u64 = 64 << 10;
/// Maximum length in bytes; settings of ten thousand threads take far less.
const MAX_LENGTH: u64 = 64 << 20;

/// Why settings may not be changed or restored now.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another howlate holds the lock.
    #[error("another howlate keeps settings changed; wait until it ends")]
    Busy,
    /// Another user may have prepared the folder.
    #[error("nothing is changed without a journal, and {0}")]
    UnsafeFolder(#[from] UnsafePath),
    /// An unprivileged user without a login session.
    #[error("nothing is changed without a journal, and XDG_RUNTIME_DIR names no place for one")]
    NoFolder,
    /// Longer than `MAX_LENGTH`, so not written by howlate.
    #[error(
        "nothing is changed without a journal, and {path} is no journal of howlate: it is {} MB long, where {} are the most; look at it, and remove it",
        length >> 20, MAX_LENGTH >> 20
    )]
    TooLong {
        path: PathBuf,
        /// In bytes.
        length: u64,
    },
    #[error("nothing is changed without a journal: {0}")]
    Io(#[from] io::Error),
}

/// One line of the journal.
#[derive(Debug, Serialize, Deserialize)]
enum JournalEntry {
    /// Boot id of the entries that follow.
    Boot(String),
    /// Replaces all entries before: the active changes of this boot.
    All { boot: String, changes: Vec<SavedSetting> },
    /// A change that is about to be made.
    Change(SavedSetting),
    /// The value to expect at the restore of the change with this id.
    #[serde(rename = "Lent")]
    Expected(u32, String),
    /// The change with this id was undone.
    Undone(u32),
}

/// The journal, locked as long as this or a copy of it is open.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    /// Length in bytes parent which it is compacted.
    compact_above: u64,
}

impl Journal {
    /// Locks this user's journal, and restores what a killed howlate left; returns caveats about that.
    pub(crate) fn lock() -> Result<(Self, Vec<Caveat>), LockError> {
        JournalPaths::of_this_user().ok_or(LockError::NoFolder)?.lock()
    }

    fn lock_in(folder: &Path) -> Result<(Self, Vec<Caveat>), LockError> {
        let file = PrivateFolder::create(folder)?.require_mode_0700()?.file(FILE_NAME)?;
        let (mut journal, caveats) = Self::lock_opened(file, folder)?;
        journal.append(&JournalEntry::Boot(boot_id()))?;
        Ok((journal, caveats))
    }

    /// Locks an open journal, and restores its active changes.
    fn lock_opened(file: File, folder: &Path) -> Result<(Self, Vec<Caveat>), LockError> {
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LockError::Busy),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        let length = file.metadata()?.len();
        if length > MAX_LENGTH {
            return Err(LockError::TooLong { path: folder.join(FILE_NAME), length });
        }
        let mut journal = Self::inherited(file);
        let (caveats, refused) = restore_changes(journal.active_changes()?);
        journal.replace_by(&refused)?;
        Ok((journal, caveats))
    }

    /// The journal that this process inherited.
    pub(crate) const fn inherited(file: File) -> Self {
        Self { file, compact_above: MAX_GROWTH }
    }

    /// A duplicate to pass on; the lock lasts as long as any duplicate.
    pub(crate) fn copy(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    pub(crate) fn record(&mut self, change: &SavedSetting) -> io::Result<()> {
        self.append(&JournalEntry::Change(change.clone()))
    }

    pub(crate) fn record_expected(&mut self, id: u32, value: &str) -> io::Result<()> {
        self.append(&JournalEntry::Expected(id, value.to_owned()))
    }

    pub(crate) fn record_undone(&mut self, id: u32) -> io::Result<()> {
        self.append(&JournalEntry::Undone(id))
    }

    /// Restores `changes` and other active changes of the journal; returns caveats about failures. Changes that the kernel refused
    /// stay in the journal: every later start tries and reports them again, until the next boot.
    pub(crate) fn end(&mut self, changes: Changes) -> Vec<Caveat> {
        // An unreadable journal adds nothing to `changes`.
        let mut all = self.active_changes().unwrap_or_default().all;
        all.retain(|recorded| changes.all.iter().all(|change| change.id != recorded.id));
        all.extend(changes.all);
        let (caveats, refused) = Changes { all }.restore_all();
        // If the write fails, the next start only checks values that are restored already.
        drop(self.replace_by(&refused));
        caveats
    }

    /// Replaces the content by these changes. They get the highest ids, which later changes do not reach.
    fn replace_by(&mut self, refused: &Changes) -> io::Result<()> {
        if refused.all.is_empty() {
            return self.file.set_len(0);
        }
        let with_ids = (0..=u32::MAX).rev().zip(refused.all.iter().rev());
        let mut changes: Vec<SavedSetting> =
            with_ids.map(|(id, change)| SavedSetting { id, ..change.clone() }).collect();
        changes.reverse();
        self.compact_to(changes)
    }

    fn append(&mut self, entry: &JournalEntry) -> io::Result<()> {
        self.write(&line(entry)?)?;
        if self.file.metadata()?.len() > self.compact_above {
            let changes = self.active_changes()?.all;
            self.compact_to(changes)?;
        }
        Ok(())
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::End(0))?;
        self.file.write_all(line)
    }

    /// Replaces all lines by one `All` entry. A kill at any moment loses nothing: the line is appended before the start of the
    /// file is overwritten by it, and what is cut off afterwards are old lines or the appended copy.
    fn compact_to(&mut self, changes: Vec<SavedSetting>) -> io::Result<()> {
        let line = line(&JournalEntry::All { boot: boot_id(), changes })?;
        let length = line.len() as u64;
        let before = self.file.metadata()?.len();
        self.compact_above = length.saturating_mul(2).max(MAX_GROWTH).max(length.saturating_add(MAX_GROWTH));
        self.write(&line)?;
        if before < length {
            // The copy at the start would overlap the appended one.
            return Ok(());
        }
        // With `O_APPEND`, every write goes to the end.
        fcntl_setfl(&self.file, fcntl_getfl(&self.file)?.difference(OFlags::APPEND))?;
        self.file.write_all_at(&line, 0)?;
        self.file.set_len(length)
    }

    /// Changes that were not undone.
    fn active_changes(&mut self) -> io::Result<Changes> {
        self.file.rewind()?;
        active_changes(&self.file, &boot_id())
    }
}

fn line(entry: &JournalEntry) -> io::Result<Vec<u8>> {
    Ok(format!("{}\n", serde_json::to_string(entry)?).into_bytes())
}

/// Restores what a howlate left that was killed together with its guardian; returns caveats about it.
pub fn restore_leftovers() -> Vec<Caveat> {
    // A running howlate restores its own changes.
    restore().unwrap_or_default()
}

/// Like [`restore_leftovers`], for an explicit request.
///
/// # Errors
///
/// [`LockError::Busy`] while another howlate is running, which restores its changes itself.
pub fn restore() -> Result<Vec<Caveat>, LockError> {
    JournalPaths::of_this_user().map_or_else(|| Ok(Vec::new()), |paths| paths.restore())
}

/// What a howlate left that was killed together with its guardian. Nothing is changed. Empty while a howlate is running,
/// which restores its changes itself.
pub fn leftovers() -> Vec<Caveat> {
    JournalPaths::of_this_user().map(|paths| paths.leftovers()).unwrap_or_default()
}

/// Folders of a user's journal.
struct JournalPaths {
    own: PathBuf,
    /// Folder of an earlier version.
    previous: Option<PathBuf>,
}

impl JournalPaths {
    fn of_this_user() -> Option<Self> {
        if rustix::process::geteuid().is_root() {
            return Some(Self {
                own: PathBuf::from(ROOT_FOLDER),
                previous: Some(PathBuf::from(PREVIOUS_ROOT_FOLDER)),
            });
        }
        let own = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let own = own.filter(|folder| folder.is_absolute())?.join("howlate");
        Some(Self { own, previous: None })
    }

    fn lock(&self) -> Result<(Journal, Vec<Caveat>), LockError> {
        let (journal, mut caveats) = Journal::lock_in(&self.own)?;
        caveats.extend(self.restore_previous()?);
        Ok((journal, caveats))
    }

    fn restore(&self) -> Result<Vec<Caveat>, LockError> {
        let mut caveats = Vec::new();
        if has_journal(&self.own) {
            caveats.extend(Journal::lock_in(&self.own)?.1);
        }
        caveats.extend(self.restore_previous()?);
        Ok(caveats)
    }

    /// Others may have access to that folder now; its journal counts only where no other user can have written it.
    fn restore_previous(&self) -> Result<Vec<Caveat>, LockError> {
        let Some(folder) = self.previous.as_deref().filter(|folder| has_journal(folder)) else {
            return Ok(Vec::new());
        };
        let opened = PrivateFolder::open(folder).and_then(|folder| folder.file(FILE_NAME));
        opened.map_or_else(|_| Ok(Vec::new()), |file| Ok(Journal::lock_opened(file, folder)?.1))
    }

    fn leftovers(&self) -> Vec<Caveat> {
        let all = std::iter::once(&self.own).chain(&self.previous);
        all.flat_map(|folder| leftovers_in(&folder.join(FILE_NAME), &boot_id())).collect()
    }
}

fn has_journal(folder: &Path) -> bool {
    folder.join(FILE_NAME).metadata().is_ok_and(|metadata| metadata.len() > 0)
}

fn leftovers_in(journal: &Path, boot: &str) -> Vec<Caveat> {
    let Ok(file) = foreign::open_file_nofollow(journal) else { return Vec::new() };
    let is_ours = file.metadata().is_ok_and(|metadata| metadata.uid() == geteuid().as_raw());
    if !is_ours || file.try_lock_shared().is_err() {
        return Vec::new();
    }
    let changes = active_changes(&file, boot).unwrap_or_default();
    changes.all.iter().rev().filter_map(leftover_caveat).collect()
}

/// Settings are reset by a reboot, so changes count only with the same boot id.
fn boot_id() -> String {
    Root::live().read("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// The changes of this boot that were not undone. A truncated line belongs to a change that was
/// never made. Read line by line: few changes are active, however long the journal is.
fn active_changes(journal: impl Read, boot: &str) -> io::Result<Changes> {
    let mut changes = Changes::default();
    let mut is_this_boot = false;
    let mut lines = BufReader::new(journal.take(MAX_LENGTH));
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        let entry = std::str::from_utf8(&line).ok().and_then(|text| serde_json::from_str(text).ok());
        line.clear();
        let Some(entry) = entry else { continue };
        match entry {
            JournalEntry::Boot(id) => is_this_boot = id == boot,
            JournalEntry::All { boot: id, changes: all } => {
                is_this_boot = id == boot;
                let is_valid = |change: &SavedSetting| is_this_boot && is_restorable(&change.path);
                changes.all = all.into_iter().filter(is_valid).collect();
            }
            JournalEntry::Change(change) if is_this_boot && is_restorable(&change.path) => {
                changes.all.push(change)
            }
            JournalEntry::Change(_) => {}
            JournalEntry::Expected(id, value) => changes.set_expected(id, &value),
            JournalEntry::Undone(id) => changes.all.retain(|change| change.id != id),
        }
    }
    Ok(changes)
}

/// Restores leftovers; returns caveats about them, and what the kernel refused.
fn restore_changes(changes: Changes) -> (Vec<Caveat>, Changes) {
    let mut caveats: Vec<Caveat> = changes.all.iter().rev().filter_map(leftover_caveat).collect();
    let (more, refused) = changes.restore_all();
    caveats.extend(more);
    (caveats, refused)
}

fn leftover_caveat(change: &SavedSetting) -> Option<Caveat> {
    if change.created {
        let path = change.path.clone();
        return Path::new(&path).exists().then_some(Caveat::GroupLeftBehind { path });
    }
    let left = read(&change.path).ok().filter(|now| !is_same_value(now, &change.value))?;
    // An external change is kept; the restore of the others reports it.
    if change.external_change(&left).is_some() {
        return None;
    }
    Some(Caveat::SettingLeftBehind { path: change.path.clone(), left, restored: change.value.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn change(id: u32, path: &str) -> SavedSetting {
        SavedSetting {
            id,
            path: path.to_owned(),
            value: "1".to_owned(),
            created: false,
            expected: None,
            changed_at: None,
        }
    }

    fn text(entries: &[JournalEntry]) -> String {
        entries.iter().map(|entry| serde_json::to_string(entry).unwrap() + "\n").collect()
    }

    #[test]
    fn leftovers_of_a_killed_run_are_found_and_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        let changed = JournalEntry::Change(change(1, "/proc/sys/kernel/pid_max"));
        fs::write(&path, text(&[JournalEntry::Boot("now".into()), changed])).unwrap();
        let before = fs::read(&path).unwrap();
        let left = leftovers_in(&path, "now");
        assert!(
            matches!(&left[..], [Caveat::SettingLeftBehind { restored, .. }] if restored == "1"),
            "{left:?}"
        );
        assert_eq!(leftovers_in(&path, "an earlier boot"), []);
        assert_eq!(fs::read(&path).unwrap(), before);
        let running = File::open(&path).unwrap();
        running.lock().unwrap();
        assert_eq!(leftovers_in(&path, "now"), [], "a running howlate restores its own changes");
        assert_eq!(leftovers_in(&folder.path().join("none"), "now"), []);
    }

    fn journal_paths(parent: &Path) -> JournalPaths {
        JournalPaths { own: parent.join("howlate-journal"), previous: Some(parent.join("howlate")) }
    }

    #[test]
    fn the_folder_of_recorders_is_not_used() {
        let parent = tempfile::tempdir().unwrap();
        let (paths, recorder) = (journal_paths(parent.path()), parent.path().join("howlate"));
        drop(paths.lock().unwrap());
        assert!(!recorder.exists(), "recorders can create it");
        fs::create_dir(&recorder).unwrap();
        for mode in [0o755, 0o700] {
            fs::set_permissions(&recorder, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
            assert!(paths.lock().is_ok(), "{mode:o}");
        }
        assert_eq!(fs::read_dir(&recorder).unwrap().count(), 0);
    }

    #[test]
    fn leftovers_of_an_earlier_version_are_restored_from_its_folder() {
        let parent = tempfile::tempdir().unwrap();
        let (paths, previous) = (journal_paths(parent.path()), parent.path().join("howlate"));
        // Not even root can write it.
        let left = text(&[
            JournalEntry::Boot(boot_id()),
            JournalEntry::Change(change(1, "/proc/sys/kernel/ostype")),
        ]);
        let write = || {
            let file = PrivateFolder::create(&previous).unwrap().file(FILE_NAME).unwrap();
            file.set_len(0).and_then(|()| (&file).write_all(left.as_bytes())).unwrap();
        };
        write();
        fs::set_permissions(&previous, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let is_reported =
            |caveats: &[Caveat]| caveats.iter().any(|caveat| format!("{caveat:?}").contains("ostype"));
        assert!(is_reported(&paths.leftovers()));
        assert!(is_reported(&paths.restore().unwrap()));
        assert!(is_reported(&paths.lock().unwrap().1));
        let running = File::open(previous.join(FILE_NAME)).unwrap();
        running.lock().unwrap();
        assert!(matches!(paths.lock(), Err(LockError::Busy)));
        drop(running);
        // Any user may have written this one.
        fs::set_permissions(&previous, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        assert_eq!(paths.lock().unwrap().1, []);
    }

    #[test]
    fn changes_that_were_not_undone_are_active() {
        let whole = text(&[
            JournalEntry::Boot("b".into()),
            JournalEntry::Change(change(1, "/sys/a")),
            JournalEntry::Change(change(2, "/proc/sys/b")),
            JournalEntry::Undone(1),
        ]);
        let ids = |text: &str, boot: &str| {
            active_changes(text.as_bytes(), boot)
                .unwrap()
                .all
                .iter()
                .map(|change| change.id)
                .collect::<Vec<_>>()
        };
        assert_eq!(ids(&whole, "b"), [2]);
        let expected = whole.clone() + &text(&[JournalEntry::Expected(2, "5".into())]);
        assert_eq!(active_changes(expected.as_bytes(), "b").unwrap().all[0].expected.as_deref(), Some("5"));
        assert_eq!(ids(&whole, "another boot"), [] as [u32; 0]);
        assert_eq!(ids(&whole[..whole.len() - 5], "b"), [1, 2], "a truncated line is no change");
        let foreign = text(&[JournalEntry::Boot("b".into()), JournalEntry::Change(change(1, "/etc/passwd"))]);
        assert_eq!(ids(&foreign, "b"), [] as [u32; 0]);
    }

    /// Ids of the active changes of a journal that consists of `bytes`.
    fn ids_in(bytes: &[u8]) -> Vec<u32> {
        active_changes(bytes, &boot_id()).unwrap().all.iter().map(|change| change.id).collect()
    }

    #[test]
    fn it_does_not_grow_with_changes_that_are_undone() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("howlate");
        let (mut journal, _) = Journal::lock_in(&folder).unwrap();
        journal.record(&change(1, "/sys/of/the/whole/run")).unwrap();
        let mut longest = 0;
        for turn in 2..5_000 {
            journal.record(&change(turn, "/sys/of/a/turn")).unwrap();
            journal.record_expected(turn, "5").unwrap();
            if turn < 4_999 {
                journal.record_undone(turn).unwrap();
            }
            longest = longest.max(fs::metadata(folder.join(FILE_NAME)).unwrap().len());
        }
        assert!(longest < 2 * MAX_GROWTH, "{longest} bytes");
        assert_eq!(ids_in(&fs::read(folder.join(FILE_NAME)).unwrap()), [1, 4_999]);
        assert_eq!(journal.active_changes().unwrap().all[1].expected.as_deref(), Some("5"));
        // A thousand settings are longer than the file was before.
        let all: Vec<_> = (0..1_000).map(|id| change(id, "/sys/of/a/thread")).collect();
        journal.compact_to(all).unwrap();
        journal.record(&change(1_000, "/sys/of/a/turn")).unwrap();
        assert_eq!(ids_in(&fs::read(folder.join(FILE_NAME)).unwrap()).len(), 1_001);
    }

    #[test]
    fn a_kill_during_compaction_loses_nothing() {
        let long = text(&[
            JournalEntry::Boot(boot_id()),
            JournalEntry::Change(change(1, "/sys/a")),
            JournalEntry::Change(change(2, "/sys/b")),
            JournalEntry::Undone(1),
            JournalEntry::Change(change(3, "/sys/c")),
            JournalEntry::Change(change(4, "/sys/d")),
            JournalEntry::Undone(4),
        ]);
        let short = line(&JournalEntry::All {
            boot: boot_id(),
            changes: vec![change(2, "/sys/b"), change(3, "/sys/c")],
        })
        .unwrap();
        assert!(short.len() < long.len());
        let mut file = long.into_bytes();
        for written in 0..=short.len() {
            assert_eq!(
                ids_in(&[&file[..], &short[..written]].concat()),
                [2, 3],
                "{written} bytes at the end"
            );
        }
        file.extend_from_slice(&short);
        for written in 0..=short.len() {
            file[..written].copy_from_slice(&short[..written]);
            assert_eq!(ids_in(&file), [2, 3], "{written} bytes at the beginning");
        }
        file.truncate(short.len());
        assert_eq!(ids_in(&file), [2, 3]);
    }

    #[test]
    fn a_journal_that_is_too_long_is_not_read() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("howlate");
        drop(Journal::lock_in(&folder).unwrap());
        File::options().write(true).open(folder.join(FILE_NAME)).unwrap().set_len(300 << 20).unwrap();
        let refused = Journal::lock_in(&folder).unwrap_err().to_string();
        assert!(refused.contains("300 MB") && refused.contains("64"), "{refused}");
    }

    #[test]
    fn restores_that_the_kernel_refuses_are_tried_and_reported_again() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("howlate");
        // Not even root can write it.
        let left = text(&[
            JournalEntry::Boot(boot_id()),
            JournalEntry::Change(change(1, "/proc/sys/kernel/ostype")),
        ]);
        let file = PrivateFolder::create(&folder).unwrap().require_mode_0700().unwrap().file(FILE_NAME);
        file.unwrap().write_all(left.as_bytes()).unwrap();
        for _ in 0..3 {
            let (_journal, caveats) = Journal::lock_in(&folder).unwrap();
            let refused = |caveat: &Caveat| matches!(caveat, Caveat::SettingNotRestored { before, .. } if before == "1");
            assert_eq!(caveats.iter().filter(|caveat| refused(caveat)).count(), 1, "{caveats:?}");
        }
        let (mut journal, _) = Journal::lock_in(&folder).unwrap();
        journal.record(&change(1, "/proc/sys/kernel/osrelease")).unwrap();
        journal.record_undone(1).unwrap();
        assert_eq!(journal.end(Changes::default()).len(), 1, "ids of different runs are distinct");
        assert_eq!(journal.active_changes().unwrap().all.len(), 1);
    }

    #[test]
    fn one_process_and_its_copies_hold_the_lock() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("howlate");
        let (journal, caveats) = Journal::lock_in(&folder).unwrap();
        assert_eq!(caveats, []);
        assert!(matches!(Journal::lock_in(&folder), Err(LockError::Busy)));
        let copy = journal.copy().unwrap();
        drop(journal);
        assert!(matches!(Journal::lock_in(&folder), Err(LockError::Busy)));
        drop(copy);
        assert!(Journal::lock_in(&folder).is_ok());
    }

    #[test]
    fn a_prepared_folder_is_refused_and_not_changed() {
        let parent = tempfile::tempdir().unwrap();
        let target = parent.path().join("target");
        fs::write(&target, "precious").unwrap();
        let folder = parent.path().join("howlate");
        PrivateFolder::create(&folder).unwrap();
        std::os::unix::fs::symlink(&target, folder.join(FILE_NAME)).unwrap();
        assert!(matches!(Journal::lock_in(&folder), Err(LockError::UnsafeFolder(_))));
        fs::remove_file(folder.join(FILE_NAME)).unwrap();
        fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        assert!(matches!(Journal::lock_in(&folder), Err(LockError::UnsafeFolder(_))));
        fs::remove_dir(&folder).unwrap();
        std::os::unix::fs::symlink(parent.path().join("elsewhere"), &folder).unwrap();
        assert!(matches!(Journal::lock_in(&folder), Err(LockError::UnsafeFolder(_))));
        assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
    }
}
