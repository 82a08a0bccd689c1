//! The changes in force, on disk, locked by those who made them.

use std::fs::{File, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use howlate_model::Caveat;
use howlate_procfs::Root;
use howlate_safe_path::{Folder, NotPrivate, foreign};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

use crate::saved_setting::{Changes, SavedSetting};
use crate::setting::{can_be_put_back, is_same, read};

/// Where root's journal is: gone after a restart, as the settings are. Not in `/run/howlate`, which everybody has to reach: a
/// recorder listens there, as a user of its own, and systemd removes it when that ends.
const OF_ROOT: &str = "/run/howlate-journal";
/// Where it was before it had a folder of its own.
const FORMERLY: &str = "/run/howlate";
const NAME: &str = "settings";

/// It is made short again when it has grown by this, and to twice what is in force: a run lends settings for each of
/// its turns, for hours.
const MOST_GROWN: u64 = 64 << 10;
/// None that howlate has written comes near, with a setting of each of ten thousand threads.
const LONGEST: u64 = 64 << 20;

/// Why settings may not be changed, or put back, now.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another one has it locked.
    #[error("another howlate keeps settings changed; wait until it ends")]
    Busy,
    /// The place was prepared by somebody else.
    #[error("nothing is changed without a journal, and {0}")]
    Place(#[from] NotPrivate),
    /// An ordinary user without a session.
    #[error("nothing is changed without a journal, and XDG_RUNTIME_DIR names no place for one")]
    NoPlace,
    /// Far longer than any that howlate has written.
    #[error(
        "nothing is changed without a journal, and {path} is no journal of howlate: it is {} MB long, where {} are the most; look at it, and remove it",
        length >> 20, LONGEST >> 20
    )]
    TooLong {
        /// Where it is.
        path: PathBuf,
        /// Its length in bytes.
        length: u64,
    },
    /// The kernel's reason.
    #[error("nothing is changed without a journal: {0}")]
    Io(#[from] io::Error),
}

/// One line of the journal.
#[derive(Debug, Serialize, Deserialize)]
enum Entry {
    /// First: which start of the machine the rest is of.
    Boot(String),
    /// What stands before no longer counts: this is all that was in force, in this start of the machine.
    All { boot: String, changes: Vec<SavedSetting> },
    /// About to be changed.
    Change(SavedSetting),
    /// Changed, and only lent.
    Lent(u32, String),
    /// The change of this number was taken back.
    Undone(u32),
}

/// The journal, locked as long as this or a copy of it is open.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    /// How long it may become before it is made short.
    until: u64,
}

impl Journal {
    /// Locks this user's journal. Puts back what a killed howlate has left, and tells of it.
    pub(crate) fn lock() -> Result<(Self, Vec<Caveat>), LockError> {
        Places::of_this_user().ok_or(LockError::NoPlace)?.lock()
    }

    fn lock_in(place: &Path) -> Result<(Self, Vec<Caveat>), LockError> {
        let file = Folder::make(place)?.closed_to_others()?.file(NAME)?;
        let (mut journal, found) = Self::take_over(file, place)?;
        journal.append(&Entry::Boot(boot()))?;
        Ok((journal, found))
    }

    /// Locks one that is open, and puts back what is left by its account.
    fn take_over(file: File, place: &Path) -> Result<(Self, Vec<Caveat>), LockError> {
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LockError::Busy),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        let length = file.metadata()?.len();
        if length > LONGEST {
            return Err(LockError::TooLong { path: place.join(NAME), length });
        }
        let mut journal = Self::inherited(file);
        let (found, refused) = put_back(journal.in_force()?);
        journal.keep(&refused)?;
        Ok((journal, found))
    }

    /// The same journal, for a process that was given it.
    pub(crate) const fn inherited(file: File) -> Self {
        Self { file, until: MOST_GROWN }
    }

    /// A copy of it to hand on; the lock lasts as long as any copy.
    pub(crate) fn copy(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    pub(crate) fn note(&mut self, change: &SavedSetting) -> io::Result<()> {
        self.append(&Entry::Change(change.clone()))
    }

    pub(crate) fn note_lent(&mut self, id: u32, found: &str) -> io::Result<()> {
        self.append(&Entry::Lent(id, found.to_owned()))
    }

    pub(crate) fn note_undone(&mut self, id: u32) -> io::Result<()> {
        self.append(&Entry::Undone(id))
    }

    /// Puts back `changes` and whatever else is left by its own account; tells what could not be, and keeps what the kernel
    /// refused: it is tried again, and told again, until the machine starts anew.
    pub(crate) fn end(&mut self, changes: Changes) -> Vec<Caveat> {
        // One that cannot be read knows no more than is known already.
        let mut all = self.in_force().unwrap_or_default().all;
        all.retain(|one| changes.all.iter().all(|known| known.id != one.id));
        all.extend(changes.all);
        let (caveats, refused) = Changes { all }.put_all_back();
        // Where it cannot be written, the next start looks at what is back already.
        drop(self.keep(&refused));
        caveats
    }

    /// Holds this and nothing else. Numbers from above are nobody's who comes later.
    fn keep(&mut self, refused: &Changes) -> io::Result<()> {
        if refused.all.is_empty() {
            return self.file.set_len(0);
        }
        let numbered = (0..=u32::MAX).rev().zip(refused.all.iter().rev());
        let mut changes: Vec<SavedSetting> =
            numbered.map(|(id, change)| SavedSetting { id, ..change.clone() }).collect();
        changes.reverse();
        self.shorten_to(changes)
    }

    fn append(&mut self, entry: &Entry) -> io::Result<()> {
        self.write(&line(entry)?)?;
        if self.file.metadata()?.len() > self.until {
            let changes = self.in_force()?.all;
            self.shorten_to(changes)?;
        }
        Ok(())
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::End(0))?;
        self.file.write_all(line)
    }

    /// Leaves one line, which says the same. A kill at any moment leaves it said as well: the line stands at the end
    /// before what it replaces is written over, and all that is cut off afterwards is before it or it.
    fn shorten_to(&mut self, changes: Vec<SavedSetting>) -> io::Result<()> {
        let line = line(&Entry::All { boot: boot(), changes })?;
        let length = line.len() as u64;
        let before = self.file.metadata()?.len();
        self.until = length.saturating_mul(2).max(MOST_GROWN).max(length.saturating_add(MOST_GROWN));
        self.write(&line)?;
        if before < length {
            // It would be written over itself.
            return Ok(());
        }
        // With it, what is written anywhere goes to the end.
        fcntl_setfl(&self.file, fcntl_getfl(&self.file)?.difference(OFlags::APPEND))?;
        self.file.write_all_at(&line, 0)?;
        self.file.set_len(length)
    }

    /// What is in force by its account.
    fn in_force(&mut self) -> io::Result<Changes> {
        self.file.rewind()?;
        in_force(&self.file, &boot())
    }
}

fn line(entry: &Entry) -> io::Result<Vec<u8>> {
    Ok(format!("{}\n", serde_json::to_string(entry)?).into_bytes())
}

/// Puts back what a howlate left that was killed together with its guardian; tells what that was.
pub fn put_back_leftovers() -> Vec<Caveat> {
    // One that is at work puts its own back.
    restore().unwrap_or_default()
}

/// The same for somebody who asked for it.
///
/// # Errors
///
/// [`LockError::Busy`] while another howlate is at work, which puts back what it has changed itself.
pub fn restore() -> Result<Vec<Caveat>, LockError> {
    Places::of_this_user().map_or_else(|| Ok(Vec::new()), |places| places.restore())
}

/// What a howlate that was killed together with its guardian has left, and nobody has put back. Nothing is changed;
/// nothing is left while one is at work, which puts its own back.
pub fn unrestored() -> Vec<Caveat> {
    Places::of_this_user().map(|places| places.unrestored()).unwrap_or_default()
}

/// Where a user's journal is, and where one of an earlier version may be.
struct Places {
    own: PathBuf,
    former: Option<PathBuf>,
}

impl Places {
    fn of_this_user() -> Option<Self> {
        if rustix::process::geteuid().is_root() {
            return Some(Self { own: PathBuf::from(OF_ROOT), former: Some(PathBuf::from(FORMERLY)) });
        }
        let own = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let own = own.filter(|own| own.is_absolute())?.join("howlate");
        Some(Self { own, former: None })
    }

    fn lock(&self) -> Result<(Journal, Vec<Caveat>), LockError> {
        let (journal, mut found) = Journal::lock_in(&self.own)?;
        found.extend(self.restore_former()?);
        Ok((journal, found))
    }

    fn restore(&self) -> Result<Vec<Caveat>, LockError> {
        let mut found = Vec::new();
        if is_left_in(&self.own) {
            found.extend(Journal::lock_in(&self.own)?.1);
        }
        found.extend(self.restore_former()?);
        Ok(found)
    }

    /// Others may look into that place by now; what stands in it is believed where nobody else can have written it.
    fn restore_former(&self) -> Result<Vec<Caveat>, LockError> {
        let Some(place) = self.former.as_deref().filter(|place| is_left_in(place)) else {
            return Ok(Vec::new());
        };
        let opened = Folder::open(place).and_then(|folder| folder.file(NAME));
        opened.map_or_else(|_| Ok(Vec::new()), |file| Ok(Journal::take_over(file, place)?.1))
    }

    fn unrestored(&self) -> Vec<Caveat> {
        let all = std::iter::once(&self.own).chain(&self.former);
        all.flat_map(|place| unrestored_in(&place.join(NAME), &boot())).collect()
    }
}

fn is_left_in(place: &Path) -> bool {
    place.join(NAME).metadata().is_ok_and(|found| found.len() > 0)
}

fn unrestored_in(journal: &Path, boot: &str) -> Vec<Caveat> {
    let Ok(file) = foreign::regular_itself(journal) else { return Vec::new() };
    let is_ours = file.metadata().is_ok_and(|found| found.uid() == geteuid().as_raw());
    if !is_ours || file.try_lock_shared().is_err() {
        return Vec::new();
    }
    let changes = in_force(&file, boot).unwrap_or_default();
    changes.all.iter().rev().filter_map(left_behind).collect()
}

/// This start of the machine; after another one settings are the kernel's own again.
fn boot() -> String {
    Root::live().read("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// The changes of this start of the machine that were not taken back. A line that is cut off was
/// never acted on. Read a line at a time: what is in force is little, however often it was changed.
fn in_force(journal: impl Read, boot: &str) -> io::Result<Changes> {
    let mut changes = Changes::default();
    let mut of_this_boot = false;
    let mut lines = BufReader::new(journal.take(LONGEST));
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        let entry = std::str::from_utf8(&line).ok().and_then(|text| serde_json::from_str(text).ok());
        line.clear();
        let Some(entry) = entry else { continue };
        match entry {
            Entry::Boot(of) => of_this_boot = of == boot,
            Entry::All { boot: of, changes: all } => {
                of_this_boot = of == boot;
                let can_be = |change: &SavedSetting| of_this_boot && can_be_put_back(&change.path);
                changes.all = all.into_iter().filter(can_be).collect();
            }
            Entry::Change(change) if of_this_boot && can_be_put_back(&change.path) => {
                changes.all.push(change)
            }
            Entry::Change(_) => {}
            Entry::Lent(id, found) => changes.lend(id, &found),
            Entry::Undone(id) => changes.all.retain(|change| change.id != id),
        }
    }
    Ok(changes)
}

/// Puts back what was left; tells that, and returns what the kernel refused.
fn put_back(changes: Changes) -> (Vec<Caveat>, Changes) {
    let mut caveats: Vec<Caveat> = changes.all.iter().rev().filter_map(left_behind).collect();
    let (more, refused) = changes.put_all_back();
    caveats.extend(more);
    (caveats, refused)
}

fn left_behind(change: &SavedSetting) -> Option<Caveat> {
    if change.made {
        let path = change.path.clone();
        return Path::new(&path).exists().then_some(Caveat::GroupLeftBehind { path });
    }
    let left = read(&change.path).ok().filter(|now| !is_same(now, &change.value))?;
    // What somebody else has set meanwhile is not put back; putting back the rest tells of it.
    if change.taken_over(&left).is_some() {
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
            made: false,
            lent: None,
            since: None,
        }
    }

    fn text(entries: &[Entry]) -> String {
        entries.iter().map(|entry| serde_json::to_string(entry).unwrap() + "\n").collect()
    }

    #[test]
    fn what_a_killed_one_has_left_is_seen_and_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        let changed = Entry::Change(change(1, "/proc/sys/kernel/pid_max"));
        fs::write(&path, text(&[Entry::Boot("now".into()), changed])).unwrap();
        let before = fs::read(&path).unwrap();
        let left = unrestored_in(&path, "now");
        assert!(
            matches!(&left[..], [Caveat::SettingLeftBehind { restored, .. }] if restored == "1"),
            "{left:?}"
        );
        assert_eq!(unrestored_in(&path, "an earlier start"), []);
        assert_eq!(fs::read(&path).unwrap(), before);
        let at_work = File::open(&path).unwrap();
        at_work.lock().unwrap();
        assert_eq!(unrestored_in(&path, "now"), [], "one at work puts its own back");
        assert_eq!(unrestored_in(&folder.path().join("none"), "now"), []);
    }

    fn places(above: &Path) -> Places {
        Places { own: above.join("howlate-journal"), former: Some(above.join("howlate")) }
    }

    #[test]
    fn a_folder_that_everybody_reaches_is_left_to_recorders() {
        let above = tempfile::tempdir().unwrap();
        let (places, recorder) = (places(above.path()), above.path().join("howlate"));
        drop(places.lock().unwrap());
        assert!(!recorder.exists(), "no recorder finds it closed");
        fs::create_dir(&recorder).unwrap();
        for mode in [0o755, 0o700] {
            fs::set_permissions(&recorder, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
            assert!(places.lock().is_ok(), "{mode:o}");
        }
        assert_eq!(fs::read_dir(&recorder).unwrap().count(), 0);
    }

    #[test]
    fn what_an_earlier_version_has_left_is_put_back_from_where_that_had_its_journal() {
        let above = tempfile::tempdir().unwrap();
        let (places, former) = (places(above.path()), above.path().join("howlate"));
        // No user may write it.
        let left = text(&[Entry::Boot(boot()), Entry::Change(change(1, "/proc/sys/kernel/ostype"))]);
        let write = || {
            let file = Folder::make(&former).unwrap().file(NAME).unwrap();
            file.set_len(0).and_then(|()| (&file).write_all(left.as_bytes())).unwrap();
        };
        write();
        fs::set_permissions(&former, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let is_told = |found: &[Caveat]| found.iter().any(|one| format!("{one:?}").contains("ostype"));
        assert!(is_told(&places.unrestored()));
        assert!(is_told(&places.restore().unwrap()));
        assert!(is_told(&places.lock().unwrap().1));
        let at_work = File::open(former.join(NAME)).unwrap();
        at_work.lock().unwrap();
        assert!(matches!(places.lock(), Err(LockError::Busy)));
        drop(at_work);
        // Anybody may have written this one.
        fs::set_permissions(&former, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        assert_eq!(places.lock().unwrap().1, []);
    }

    #[test]
    fn what_was_not_taken_back_is_still_in_force() {
        let whole = text(&[
            Entry::Boot("b".into()),
            Entry::Change(change(1, "/sys/a")),
            Entry::Change(change(2, "/proc/sys/b")),
            Entry::Undone(1),
        ]);
        let ids = |text: &str, boot: &str| {
            in_force(text.as_bytes(), boot).unwrap().all.iter().map(|change| change.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(&whole, "b"), [2]);
        let lent = whole.clone() + &text(&[Entry::Lent(2, "5".into())]);
        assert_eq!(in_force(lent.as_bytes(), "b").unwrap().all[0].lent.as_deref(), Some("5"));
        assert_eq!(ids(&whole, "another start"), [] as [u32; 0]);
        assert_eq!(ids(&whole[..whole.len() - 5], "b"), [1, 2], "a line that is cut off was not acted on");
        let foreign = text(&[Entry::Boot("b".into()), Entry::Change(change(1, "/etc/passwd"))]);
        assert_eq!(ids(&foreign, "b"), [] as [u32; 0]);
    }

    /// What is in force by a journal of which no more than `bytes` are left.
    fn ids_in(bytes: &[u8]) -> Vec<u32> {
        in_force(bytes, &boot()).unwrap().all.iter().map(|change| change.id).collect()
    }

    #[test]
    fn it_does_not_grow_with_what_is_lent_and_taken_back() {
        let above = tempfile::tempdir().unwrap();
        let place = above.path().join("howlate");
        let (mut journal, _) = Journal::lock_in(&place).unwrap();
        journal.note(&change(1, "/sys/of/the/whole/run")).unwrap();
        let mut longest = 0;
        for turn in 2..5_000 {
            journal.note(&change(turn, "/sys/of/a/turn")).unwrap();
            journal.note_lent(turn, "5").unwrap();
            if turn < 4_999 {
                journal.note_undone(turn).unwrap();
            }
            longest = longest.max(fs::metadata(place.join(NAME)).unwrap().len());
        }
        assert!(longest < 2 * MOST_GROWN, "{longest} bytes");
        assert_eq!(ids_in(&fs::read(place.join(NAME)).unwrap()), [1, 4_999]);
        assert_eq!(journal.in_force().unwrap().all[1].lent.as_deref(), Some("5"));
        // A thousand settings are longer than what it was when they were noted last.
        let all: Vec<_> = (0..1_000).map(|id| change(id, "/sys/of/a/thread")).collect();
        journal.shorten_to(all).unwrap();
        journal.note(&change(1_000, "/sys/of/a/turn")).unwrap();
        assert_eq!(ids_in(&fs::read(place.join(NAME)).unwrap()).len(), 1_001);
    }

    #[test]
    fn a_kill_while_it_is_made_short_loses_nothing() {
        let long = text(&[
            Entry::Boot(boot()),
            Entry::Change(change(1, "/sys/a")),
            Entry::Change(change(2, "/sys/b")),
            Entry::Undone(1),
            Entry::Change(change(3, "/sys/c")),
            Entry::Change(change(4, "/sys/d")),
            Entry::Undone(4),
        ]);
        let short =
            line(&Entry::All { boot: boot(), changes: vec![change(2, "/sys/b"), change(3, "/sys/c")] })
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
    fn what_is_far_too_long_is_not_read() {
        let above = tempfile::tempdir().unwrap();
        let place = above.path().join("howlate");
        drop(Journal::lock_in(&place).unwrap());
        File::options().write(true).open(place.join(NAME)).unwrap().set_len(300 << 20).unwrap();
        let refused = Journal::lock_in(&place).unwrap_err().to_string();
        assert!(refused.contains("300 MB") && refused.contains("64"), "{refused}");
    }

    #[test]
    fn what_the_kernel_refuses_is_tried_and_told_again() {
        let above = tempfile::tempdir().unwrap();
        let place = above.path().join("howlate");
        // No user may write it.
        let left = text(&[Entry::Boot(boot()), Entry::Change(change(1, "/proc/sys/kernel/ostype"))]);
        let file = Folder::make(&place).unwrap().closed_to_others().unwrap().file(NAME);
        file.unwrap().write_all(left.as_bytes()).unwrap();
        for _ in 0..3 {
            let (_journal, found) = Journal::lock_in(&place).unwrap();
            let refused =
                |one: &Caveat| matches!(one, Caveat::SettingNotRestored { before, .. } if before == "1");
            assert_eq!(found.iter().filter(|one| refused(one)).count(), 1, "{found:?}");
        }
        let (mut journal, _) = Journal::lock_in(&place).unwrap();
        journal.note(&change(1, "/proc/sys/kernel/osrelease")).unwrap();
        journal.note_undone(1).unwrap();
        assert_eq!(journal.end(Changes::default()).len(), 1, "another's number is its own");
        assert_eq!(journal.in_force().unwrap().all.len(), 1);
    }

    #[test]
    fn one_holds_it_at_a_time_and_so_do_copies() {
        let above = tempfile::tempdir().unwrap();
        let place = above.path().join("howlate");
        let (journal, found) = Journal::lock_in(&place).unwrap();
        assert_eq!(found, []);
        assert!(matches!(Journal::lock_in(&place), Err(LockError::Busy)));
        let copy = journal.copy().unwrap();
        drop(journal);
        assert!(matches!(Journal::lock_in(&place), Err(LockError::Busy)));
        drop(copy);
        assert!(Journal::lock_in(&place).is_ok());
    }

    #[test]
    fn a_prepared_place_is_refused_and_left_alone() {
        let above = tempfile::tempdir().unwrap();
        let target = above.path().join("target");
        fs::write(&target, "precious").unwrap();
        let place = above.path().join("howlate");
        Folder::make(&place).unwrap();
        std::os::unix::fs::symlink(&target, place.join(NAME)).unwrap();
        assert!(matches!(Journal::lock_in(&place), Err(LockError::Place(_))));
        fs::remove_file(place.join(NAME)).unwrap();
        fs::set_permissions(&place, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        assert!(matches!(Journal::lock_in(&place), Err(LockError::Place(_))));
        fs::remove_dir(&place).unwrap();
        std::os::unix::fs::symlink(above.path().join("elsewhere"), &place).unwrap();
        assert!(matches!(Journal::lock_in(&place), Err(LockError::Place(_))));
        assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
    }
}
