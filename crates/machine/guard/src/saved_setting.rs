//! Previous values of changed settings, and their restore.

use std::fs;
use std::io;

use howlate_linux::clock;
use howlate_model::{Caveat, SettingRefusal, Span};
use serde::{Deserialize, Serialize};

use crate::setting::{LiveFiles, SettingFiles, has_ended, is_same_value};
use crate::thread_setting::{ThreadSetting, ticks_now};

/// One change with the value to restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedSetting {
    /// Assigned in sequence by the measuring process.
    pub(crate) id: u32,
    pub(crate) path: String,
    pub(crate) value: String,
    /// `path` is a control group that the change creates, and that the restore removes.
    #[serde(default, rename = "made")]
    pub(crate) created: bool,
    /// The value read back after the change: if another value is found at the restore, it is another program's, and is kept.
    /// `None`: restored unconditionally.
    #[serde(default, rename = "lent", skip_serializing_if = "Option::is_none")]
    pub(crate) expected: Option<String>,
    /// For a thread's setting, the time of the change in ticks since boot: threads that it starts later inherit the setting.
    #[serde(default, rename = "since", skip_serializing_if = "Option::is_none")]
    pub(crate) changed_at: Option<u64>,
}

/// How long exiting processes may keep a control group in use.
const REMOVAL_TIMEOUT: Span = Span::from_secs(2);
const RETRY_INTERVAL: Span = Span::from_millis(5);

impl SavedSetting {
    /// Removes a created control group; `Some` if that fails.
    fn remove(&self) -> Option<Caveat> {
        let mut remaining = REMOVAL_TIMEOUT;
        let reason = loop {
            match fs::remove_dir(&self.path) {
                Ok(()) => return None,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
                Err(error) if remaining.is_zero() => break (&error).into(),
                // A signal that ends the sleep only makes the next try earlier.
                Err(_) => drop(clock::sleep_for(RETRY_INTERVAL)),
            }
            remaining = remaining.minus(RETRY_INTERVAL);
        };
        Some(Caveat::GroupNotRemoved { path: self.path.clone(), reason })
    }

    /// Restores the previous state; `Some` if that fails.
    pub(crate) fn restore(&self) -> Option<Caveat> {
        if self.created { self.remove() } else { self.restore_in(&LiveFiles) }
    }

    /// [`changed_at`](Self::changed_at) of a change of `path` that is made now.
    pub(crate) fn change_ticks(path: &str) -> Option<u64> {
        ThreadSetting::parse(path).map(|_| ticks_now())
    }

    /// Restores for threads that inherited the changed setting.
    fn inherited_changes(&self) -> Vec<Self> {
        let Some((thread, changed_at)) = ThreadSetting::parse(&self.path).zip(self.changed_at) else {
            return Vec::new();
        };
        let inherited = self
            .expected
            .as_deref()
            .filter(|value| *value != self.value)
            .or(thread.default_inherited_value());
        let paths = inherited.map(|value| thread.inheriting_threads(changed_at, value)).unwrap_or_default();
        paths.into_iter().map(|path| Self { path, ..self.clone() }).collect()
    }

    /// The caveat that another program has changed the setting to `now` since our change.
    pub(crate) fn external_change(&self, now: &str) -> Option<Caveat> {
        // An empty value is an interrupted write of ours.
        let is_external = |expected: &String| !now.is_empty() && !is_same_value(expected, now);
        let set = self.expected.clone().filter(is_external)?;
        Some(Caveat::SettingChanged { path: self.path.clone(), set, found: now.to_owned() })
    }

    fn restore_in(&self, files: &impl SettingFiles) -> Option<Caveat> {
        let now = files.read(&self.path);
        if now.as_ref().is_err_and(|error| has_ended(&self.path, error)) {
            return None;
        }
        // A value that was never changed, or is restored already, is not written.
        if now.as_ref().is_ok_and(|now| is_same_value(now, &self.value)) {
            return None;
        }
        if let Some(caveat) = now.ok().and_then(|now| self.external_change(&now)) {
            return Some(caveat);
        }
        let reason = match files.write(&self.path, &self.value).and_then(|()| files.read(&self.path)) {
            Ok(now) if is_same_value(&now, &self.value) => return None,
            Ok(value) => SettingRefusal::Holds { value }.into(),
            Err(error) => (&error).into(),
        };
        let (path, before) = (self.path.clone(), self.value.clone());
        Some(Caveat::SettingNotRestored { path, before, reason })
    }
}

/// Active changes, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    pub(crate) all: Vec<SavedSetting>,
}

impl Changes {
    /// Undoes the changes `ids`, last change first. Returns caveats; changes that the kernel refused to undo are tried again at the end.
    pub(crate) fn undo(&mut self, ids: &[u32]) -> Vec<Caveat> {
        let (undone, remaining) =
            std::mem::take(&mut self.all).into_iter().partition(|change| ids.contains(&change.id));
        let (caveats, refused) = Self { all: undone }.restore_all();
        self.all = remaining;
        self.all.extend(refused.all);
        self.all.sort_by_key(|change| change.id);
        caveats
    }

    /// Restores all, last change first; returns caveats, and the changes that the kernel refused to undo.
    pub(crate) fn restore_all(self) -> (Vec<Caveat>, Self) {
        let (refused, reported) = restore_each(self.all.iter().rev().cloned().collect());
        let inherited_caveats = self.restore_inherited();
        // Some are only accepted once others are restored: an energy preference not under the governor `performance`.
        let (refused, reported_later) = restore_each(refused.into_iter().map(|(change, _)| change).collect());
        let caveats =
            reported.into_iter().chain(reported_later).map(|(_, caveat)| caveat).chain(inherited_caveats);
        let caveats = caveats.chain(refused.iter().map(|(_, caveat)| caveat.clone())).collect();
        (caveats, Self { all: refused.into_iter().rev().map(|(change, _)| change).collect() })
    }

    /// Restores the setting of threads that inherited it. They may start further threads meanwhile, hence the repetition.
    fn restore_inherited(&self) -> Vec<Caveat> {
        /// A program that still has inheriting threads after this many passes never stops starting them.
        const MAX_PASSES: usize = 8;
        let mut caveats = Vec::new();
        for _ in 0..MAX_PASSES {
            let inherited: Vec<SavedSetting> =
                self.all.iter().rev().flat_map(SavedSetting::inherited_changes).collect();
            if inherited.is_empty() {
                break;
            }
            let (refused, reported) = restore_each(inherited);
            let new = refused.into_iter().chain(reported).map(|(_, caveat)| caveat);
            let new: Vec<Caveat> = new.filter(|caveat| !caveats.contains(caveat)).collect();
            caveats.extend(new);
        }
        caveats
    }

    /// Sets [`SavedSetting::expected`] of change `id`.
    pub(crate) fn set_expected(&mut self, id: u32, value: &str) {
        let changes = self.all.iter_mut().filter(|change| change.id == id);
        changes.for_each(|change| change.expected = Some(value.to_owned()));
    }
}

/// A change, and the caveat about its restore.
type RestoreProblem = (SavedSetting, Caveat);

/// Restores each; returns what the kernel refused to restore, and other caveats.
fn restore_each(changes: Vec<SavedSetting>) -> (Vec<RestoreProblem>, Vec<RestoreProblem>) {
    let is_refused = |caveat: &Caveat| matches!(caveat, Caveat::SettingNotRestored { .. });
    let problems = changes.into_iter().filter_map(|change| change.restore().map(|caveat| (change, caveat)));
    problems.partition(|(_, caveat)| is_refused(caveat))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::scripted::ScriptedFiles;

    fn change(id: u32, path: &std::path::Path, value: &str) -> SavedSetting {
        SavedSetting {
            id,
            path: path.to_str().unwrap().to_owned(),
            value: value.to_owned(),
            created: false,
            expected: None,
            changed_at: None,
        }
    }

    /// Restores `1` where `now` is found after `5` was set; returns the caveat and the final value.
    fn restore(
        now: &str,
        is_expected: bool,
        write: fn(&str) -> io::Result<String>,
    ) -> (Option<Caveat>, String) {
        let files = ScriptedFiles::new(now, write);
        let expected = is_expected.then(|| "5".to_owned());
        let caveat =
            SavedSetting { expected, ..change(1, std::path::Path::new("/sys/a"), "1") }.restore_in(&files);
        (caveat, files.read("/sys/a").unwrap())
    }

    #[test]
    fn an_external_change_is_kept_only_with_an_expected_value() {
        let accepts = |value: &str| Ok(value.to_owned());
        assert_eq!(restore("5", true, accepts), (None, "1".into()));
        assert_eq!(restore("9", false, accepts), (None, "1".into()), "unconditional");
        let (caveat, value) = restore("9", true, accepts);
        assert_eq!(value, "9");
        assert!(
            matches!(caveat, Some(Caveat::SettingChanged { set, found, .. }) if (set.as_str(), found.as_str()) == ("5", "9"))
        );
        assert_eq!(restore("", true, accepts), (None, "1".into()), "an interrupted write");
        // It is restored already: nothing is written or reported.
        assert_eq!(restore("1", true, |_| unreachable!()), (None, "1".into()));
    }

    #[test]
    fn a_refused_or_clamped_restore_is_reported() {
        let refuses = |_: &str| Err(io::Error::from_raw_os_error(16));
        let (caveat, value) = restore("5", true, refuses);
        assert!(
            matches!(caveat, Some(Caveat::SettingNotRestored { reason, .. }) if reason.to_string().contains("busy"))
        );
        assert_eq!(value, "5");
        let (caveat, value) = restore("5", true, |_| Ok("2".to_owned()));
        assert!(
            matches!(caveat, Some(Caveat::SettingNotRestored { reason, .. }) if reason.to_string() == "it is `2`")
        );
        assert_eq!(value, "2");
    }

    #[test]
    fn the_last_change_is_undone_first() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("setting");
        fs::write(&file, "3").unwrap();
        let mut changes = Changes { all: vec![change(1, &file, "1"), change(2, &file, "2")] };
        assert_eq!(changes.undo(&[2]), []);
        assert_eq!(fs::read_to_string(&file).unwrap(), "2");
        assert_eq!(changes.undo(&[2]), []);
        assert_eq!(changes.restore_all().0, []);
        assert_eq!(fs::read_to_string(&file).unwrap(), "1");
    }

    #[test]
    fn a_setting_that_was_never_changed_is_not_reported() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("setting");
        fs::write(&file, "1\n").unwrap();
        fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o400)).unwrap();
        assert_eq!(change(1, &file, "1").restore(), None);
        assert_eq!(fs::read_to_string(&file).unwrap(), "1\n", "it was not written either");
        let missing = change(1, &folder.path().join("none"), "1").restore();
        assert!(matches!(missing, Some(Caveat::SettingNotRestored { .. })), "{missing:?}");
    }

    #[test]
    fn a_created_group_is_removed_when_it_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let group = folder.path().join("group");
        fs::create_dir(&group).unwrap();
        let change = SavedSetting { created: true, ..change(1, &group, "") };
        assert_eq!((change.restore(), group.exists()), (None, false));
        assert_eq!(change.restore(), None, "already removed");
        fs::create_dir(&group).unwrap();
        fs::write(group.join("in_use"), "").unwrap();
        assert!(matches!(change.restore(), Some(Caveat::GroupNotRemoved { .. })));
    }
}
