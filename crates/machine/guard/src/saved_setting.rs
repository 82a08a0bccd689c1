//! What was there before a change.

use std::fs;
use std::io;

use howlate_linux::clock;
use howlate_model::{Caveat, SettingRefusal, Span};
use serde::{Deserialize, Serialize};

use crate::setting::{Kernel, Live, has_ended, is_same};
use crate::thread::{OfThread, ticks_now};

/// One change, as it is to be taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedSetting {
    /// Counted up by the process that measures.
    pub(crate) id: u32,
    pub(crate) path: String,
    pub(crate) value: String,
    /// It was not there at all: a control group that is made, and goes again.
    #[serde(default)]
    pub(crate) made: bool,
    /// What was read back, where the setting is only lent: whoever changes that meanwhile keeps what he has set. Without
    /// it, the value from before is put back whatever is found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lent: Option<String>,
    /// Of a thread's setting, when it was about to be changed, in ticks: threads that it starts from then on inherit it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<u64>,
}

/// How long a control group may still be in use by processes that are ending.
const UNTIL_EMPTY: Span = Span::from_secs(2);
const LOOK_EVERY: Span = Span::from_millis(5);

impl SavedSetting {
    /// Removes what was made; the reason if it is still there then.
    fn remove(&self) -> Option<Caveat> {
        let mut patience = UNTIL_EMPTY;
        let reason = loop {
            match fs::remove_dir(&self.path) {
                Ok(()) => return None,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
                Err(error) if patience.is_zero() => break (&error).into(),
                // A signal that ends the pause only makes the next try come earlier.
                Err(_) => drop(clock::pause(LOOK_EVERY)),
            }
            patience = patience.minus(LOOK_EVERY);
        };
        Some(Caveat::GroupNotRemoved { path: self.path.clone(), reason })
    }

    /// Puts the value back, and reads it; the reason if it is not there then.
    pub(crate) fn put_back(&self) -> Option<Caveat> {
        if self.made { self.remove() } else { self.put_back_in(&Live) }
    }

    /// When a thread's setting at `path` is changed that is changed now.
    pub(crate) fn since(path: &str) -> Option<u64> {
        OfThread::named(path).map(|_| ticks_now())
    }

    /// The same setting of threads that inherited it since it was changed, as it would be without.
    fn of_heirs(&self) -> Vec<Self> {
        let Some((thread, since)) = OfThread::named(&self.path).zip(self.since) else { return Vec::new() };
        let inherited = self.lent.as_deref().filter(|lent| *lent != self.value).or(thread.hands_on());
        let heirs = inherited.map(|value| thread.heirs(since, value)).unwrap_or_default();
        heirs.into_iter().map(|path| Self { path, ..self.clone() }).collect()
    }

    /// What somebody else has set meanwhile in place of what was lent.
    pub(crate) fn taken_over(&self, now: &str) -> Option<Caveat> {
        // Nobody sets nothing: that is a write of ours that was cut off.
        let others = |lent: &String| !now.is_empty() && !is_same(lent, now);
        let set = self.lent.clone().filter(others)?;
        Some(Caveat::SettingChanged { path: self.path.clone(), set, found: now.to_owned() })
    }

    fn put_back_in(&self, kernel: &impl Kernel) -> Option<Caveat> {
        let now = kernel.read(&self.path);
        if now.as_ref().is_err_and(|error| has_ended(&self.path, error)) {
            return None;
        }
        // What was never changed, or is back already, is not written.
        if now.as_ref().is_ok_and(|now| is_same(now, &self.value)) {
            return None;
        }
        if let Some(left) = now.ok().and_then(|now| self.taken_over(&now)) {
            return Some(left);
        }
        let reason = match kernel.write(&self.path, &self.value).and_then(|()| kernel.read(&self.path)) {
            Ok(now) if is_same(&now, &self.value) => return None,
            Ok(value) => SettingRefusal::Holds { value }.into(),
            Err(error) => (&error).into(),
        };
        let (path, before) = (self.path.clone(), self.value.clone());
        Some(Caveat::SettingNotRestored { path, before, reason })
    }
}

/// Changes in force, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    pub(crate) all: Vec<SavedSetting>,
}

impl Changes {
    /// Takes those of `ids` back, last change first; tells what could not be, which is tried again at the end.
    pub(crate) fn undo(&mut self, ids: &[u32]) -> Vec<Caveat> {
        let (undone, kept) = std::mem::take(&mut self.all).into_iter().partition(|one| ids.contains(&one.id));
        let (caveats, refused) = Self { all: undone }.put_all_back();
        self.all = kept;
        self.all.extend(refused.all);
        self.all.sort_by_key(|one| one.id);
        caveats
    }

    /// Takes all back, last change first; tells what could not be, and returns what the kernel refused.
    pub(crate) fn put_all_back(self) -> (Vec<Caveat>, Self) {
        let (refused, told) = try_each(self.all.iter().rev().cloned().collect());
        let of_heirs = self.put_heirs_back();
        // Some are only taken once others are back: an energy preference only without the governor `performance`.
        let (refused, told_later) = try_each(refused.into_iter().map(|(one, _)| one).collect());
        let caveats = told.into_iter().chain(told_later).map(|(_, caveat)| caveat).chain(of_heirs);
        let caveats = caveats.chain(refused.iter().map(|(_, caveat)| caveat.clone())).collect();
        (caveats, Self { all: refused.into_iter().rev().map(|(one, _)| one).collect() })
    }

    /// Takes back what threads have inherited. They may start others until they are found.
    fn put_heirs_back(&self) -> Vec<Caveat> {
        /// What still inherits then starts threads without end.
        const MOST: usize = 8;
        let mut caveats = Vec::new();
        for _ in 0..MOST {
            let heirs: Vec<SavedSetting> = self.all.iter().rev().flat_map(SavedSetting::of_heirs).collect();
            if heirs.is_empty() {
                break;
            }
            let (refused, told) = try_each(heirs);
            let new = refused.into_iter().chain(told).map(|(_, caveat)| caveat);
            let new: Vec<Caveat> = new.filter(|caveat| !caveats.contains(caveat)).collect();
            caveats.extend(new);
        }
        caveats
    }

    /// From now on what `id` has changed is lent: it held `found` when it was read back.
    pub(crate) fn lend(&mut self, id: u32, found: &str) {
        let lent = self.all.iter_mut().filter(|one| one.id == id);
        lent.for_each(|one| one.lent = Some(found.to_owned()));
    }
}

/// A change, and what is to be told of taking it back.
type Unreversed = (SavedSetting, Caveat);

/// Takes each back; returns what the kernel refused, and what else is to be told.
fn try_each(changes: Vec<SavedSetting>) -> (Vec<Unreversed>, Vec<Unreversed>) {
    let is_refused = |caveat: &Caveat| matches!(caveat, Caveat::SettingNotRestored { .. });
    let tried = changes.into_iter().filter_map(|one| one.put_back().map(|caveat| (one, caveat)));
    tried.partition(|(_, caveat)| is_refused(caveat))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::scripted::Scripted;

    fn change(id: u32, path: &std::path::Path, value: &str) -> SavedSetting {
        SavedSetting {
            id,
            path: path.to_str().unwrap().to_owned(),
            value: value.to_owned(),
            made: false,
            lent: None,
            since: None,
        }
    }

    /// What putting `1` back comes to where `now` is found, after `5` was set; and what is there then.
    fn found(now: &str, lent: bool, write: fn(&str) -> io::Result<String>) -> (Option<Caveat>, String) {
        let kernel = Scripted::new(now, write);
        let lent = lent.then(|| "5".to_owned());
        let told =
            SavedSetting { lent, ..change(1, std::path::Path::new("/sys/a"), "1") }.put_back_in(&kernel);
        (told, kernel.read("/sys/a").unwrap())
    }

    #[test]
    fn what_somebody_else_set_stays_only_where_it_was_lent() {
        let takes = |value: &str| Ok(value.to_owned());
        assert_eq!(found("5", true, takes), (None, "1".into()));
        assert_eq!(found("9", false, takes), (None, "1".into()), "a setting of a whole run is put back");
        let (told, left) = found("9", true, takes);
        assert_eq!(left, "9");
        assert!(
            matches!(told, Some(Caveat::SettingChanged { set, found, .. }) if (set.as_str(), found.as_str()) == ("5", "9"))
        );
        assert_eq!(found("", true, takes), (None, "1".into()), "a write was cut off");
        // It is back already: nothing is written, and nothing is to be told.
        assert_eq!(found("1", true, |_| unreachable!()), (None, "1".into()));
    }

    #[test]
    fn a_kernel_that_refuses_or_clamps_is_named() {
        let refuses = |_: &str| Err(io::Error::from_raw_os_error(16));
        let (told, left) = found("5", true, refuses);
        assert!(
            matches!(told, Some(Caveat::SettingNotRestored { reason, .. }) if reason.to_string().contains("busy"))
        );
        assert_eq!(left, "5");
        let (told, left) = found("5", true, |_| Ok("2".to_owned()));
        assert!(
            matches!(told, Some(Caveat::SettingNotRestored { reason, .. }) if reason.to_string() == "it is `2`")
        );
        assert_eq!(left, "2");
    }

    #[test]
    fn the_last_change_is_taken_back_first() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("setting");
        fs::write(&file, "3").unwrap();
        let mut changes = Changes { all: vec![change(1, &file, "1"), change(2, &file, "2")] };
        assert_eq!(changes.undo(&[2]), []);
        assert_eq!(fs::read_to_string(&file).unwrap(), "2");
        assert_eq!(changes.undo(&[2]), []);
        assert_eq!(changes.put_all_back().0, []);
        assert_eq!(fs::read_to_string(&file).unwrap(), "1");
    }

    #[test]
    fn what_was_never_changed_is_nothing_to_complain_of() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("setting");
        fs::write(&file, "1\n").unwrap();
        fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o400)).unwrap();
        assert_eq!(change(1, &file, "1").put_back(), None);
        assert_eq!(fs::read_to_string(&file).unwrap(), "1\n", "it was not written either");
        let gone = change(1, &folder.path().join("none"), "1").put_back();
        assert!(matches!(gone, Some(Caveat::SettingNotRestored { .. })), "{gone:?}");
    }

    #[test]
    fn what_was_made_is_removed_and_only_when_it_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let made = folder.path().join("group");
        fs::create_dir(&made).unwrap();
        let change = SavedSetting { made: true, ..change(1, &made, "") };
        assert_eq!((change.put_back(), made.exists()), (None, false));
        assert_eq!(change.put_back(), None, "gone already is what is wanted");
        fs::create_dir(&made).unwrap();
        fs::write(made.join("in_use"), "").unwrap();
        assert!(matches!(change.put_back(), Some(Caveat::GroupNotRemoved { .. })));
    }
}
