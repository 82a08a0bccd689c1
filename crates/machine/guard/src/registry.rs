//! All changes of this process, shared with its guardian.

use std::io;
use std::mem::take;

use howlate_model::{AsText, Caveat, Setting, SettingRefusal, SettingWrite};

use crate::guardian::{Guardian, GuardianError};
use crate::journal::{Journal, LockError};
use crate::saved_setting::{Changes, SavedSetting};
use crate::setting::{LiveFiles, SettingFiles, is_same_value, is_writable, read};

/// Why a setting could not be changed.
type RefusalReason = AsText<SettingRefusal>;

impl From<LockError> for RefusalReason {
    fn from(error: LockError) -> Self {
        Self::Text(error.to_string())
    }
}

/// Changes of this process, with its journal and its guardian.
#[derive(Default)]
pub(crate) struct ChangeRegistry {
    journal: Option<Journal>,
    guardian: Option<Guardian>,
    changes: Changes,
    last_id: u32,
    /// Caveats for the next report.
    deferred: Vec<Caveat>,
}

impl ChangeRegistry {
    /// Sets a value and reads it back; also returns the id of the change.
    ///
    /// A value that is in force already is recorded as well, as another program may change it later.
    pub(crate) fn change(&mut self, path: &str, value: &str) -> Result<(Setting, u32), RefusalReason> {
        let before = read(path)?;
        self.change_from(before, path, value)
    }

    /// Like [`change`](Self::change), but external changes win: a value other than `write.now` is not changed, and a value that
    /// is changed externally later is not restored.
    pub(crate) fn change_unless_modified(
        &mut self,
        write: &SettingWrite,
    ) -> Result<(Setting, u32), RefusalReason> {
        let before = read(&write.path)?;
        if !is_same_value(&before, &write.now) {
            return Err(SettingRefusal::Changed { was: write.now.clone(), now: before }.into());
        }
        let (setting, id) = self.change_from(before, &write.path, &write.value)?;
        // A watched setting may change as a side effect of other writes, which is no external change.
        if !write.watched {
            self.set_expected(id, &setting.in_force);
        }
        Ok((setting, id))
    }

    /// Until the guardian has stored it, the previous value would be restored unconditionally.
    fn set_expected(&mut self, id: u32, value: &str) {
        self.changes.set_expected(id, value);
        if let Some(Err(GuardianError::Lost)) =
            self.guardian.as_mut().map(|guardian| guardian.set_expected(id, value))
        {
            self.forget_guardian();
        }
    }

    fn change_from(
        &mut self,
        before: String,
        path: &str,
        value: &str,
    ) -> Result<(Setting, u32), RefusalReason> {
        self.last_id += 1;
        let change = SavedSetting {
            id: self.last_id,
            path: path.to_owned(),
            value: before.clone(),
            created: false,
            expected: None,
            changed_at: SavedSetting::change_ticks(path),
        };
        let is_in_force = is_same_value(&before, value);
        if !is_in_force || is_writable(path) {
            self.remember(&change)?;
        }
        let in_force = if is_in_force { Ok(before.clone()) } else { set(&LiveFiles, path, value) };
        let in_force = in_force.inspect_err(|_| {
            let caveats = self.undo(&[change.id]);
            self.deferred.extend(caveats);
        })?;
        Ok((Setting { path: change.path, before, in_force }, change.id))
    }

    /// Creates a control group; returns the id of the change.
    pub(crate) fn create_cgroup(&mut self, path: &str) -> Result<u32, RefusalReason> {
        self.last_id += 1;
        let id = self.last_id;
        self.remember(&SavedSetting {
            id,
            path: path.to_owned(),
            value: String::new(),
            created: true,
            expected: None,
            changed_at: None,
        })?;
        std::fs::create_dir(path).inspect_err(|_| drop(self.undo(&[id])))?;
        Ok(id)
    }

    fn remember(&mut self, change: &SavedSetting) -> Result<(), RefusalReason> {
        match self.guardian()?.remember(change) {
            Ok(()) => {}
            Err(GuardianError::Refused(why)) => return Err(SettingRefusal::NotRemembered { why }.into()),
            Err(GuardianError::Lost) => self.replace_guardian(change)?,
        }
        self.changes.all.push(change.clone());
        Ok(())
    }

    /// Locks the journal, unless it is locked already.
    pub(crate) fn begin(&mut self) -> Result<(), LockError> {
        if self.journal.is_none() {
            let (journal, caveats) = Journal::lock()?;
            self.deferred.extend(caveats);
            self.journal = Some(journal);
        }
        Ok(())
    }

    fn guardian(&mut self) -> Result<&mut Guardian, RefusalReason> {
        self.begin()?;
        if let (None, Some(journal)) = (&self.guardian, &self.journal) {
            self.guardian = Some(Guardian::start(journal)?);
        }
        self.guardian.as_mut().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound).into())
    }

    /// Starts another guardian in place of a killed one, and passes it all changes.
    fn replace_guardian(&mut self, change: &SavedSetting) -> Result<(), RefusalReason> {
        self.forget_guardian();
        let changes = self.changes.clone();
        let guardian = self.guardian()?;
        for recorded in changes.all.iter().chain([change]) {
            let result = guardian.remember(recorded);
            result.map_err(|_| SettingRefusal::NotRemembered { why: "it is gone".to_owned() })?;
        }
        Ok(())
    }

    fn forget_guardian(&mut self) {
        self.guardian = None;
        if !self.deferred.contains(&Caveat::GuardianGone) {
            self.deferred.push(Caveat::GuardianGone);
        }
    }

    /// Undoes some changes, through the guardian, or directly if it was killed.
    pub(crate) fn undo(&mut self, ids: &[u32]) -> Vec<Caveat> {
        let ids: Vec<u32> =
            self.changes.all.iter().map(|change| change.id).filter(|id| ids.contains(id)).collect();
        if ids.is_empty() {
            return Vec::new();
        }
        match self.guardian.as_mut().map(|guardian| guardian.undo(&ids)) {
            Some(Ok(caveats)) => {
                self.changes.all.retain(|change| !ids.contains(&change.id));
                caveats
            }
            _ => {
                self.forget_guardian();
                let caveats = self.changes.undo(&ids);
                let is_undone = |id: &&u32| self.changes.all.iter().all(|change| change.id != **id);
                let journal = self.journal.iter_mut();
                journal.for_each(|journal| {
                    ids.iter().filter(is_undone).for_each(|id| drop(journal.record_undone(*id)))
                });
                caveats
            }
        }
    }

    /// Undoes everything; returns all caveats, including deferred ones.
    pub(crate) fn end(&mut self) -> Vec<Caveat> {
        let caveats = match self.guardian.take().map(Guardian::end) {
            None => Vec::new(),
            Some(Ok(caveats)) => {
                self.changes = Changes::default();
                caveats
            }
            Some(Err(_)) => {
                self.forget_guardian();
                let changes = take(&mut self.changes);
                match &mut self.journal {
                    Some(journal) => journal.end(changes),
                    None => changes.restore_all().0,
                }
            }
        };
        self.journal = None;
        self.take_deferred().into_iter().chain(caveats).collect()
    }

    pub(crate) fn take_deferred(&mut self) -> Vec<Caveat> {
        take(&mut self.deferred)
    }

    /// Keeps caveats for the next report.
    pub(crate) fn defer_caveats(&mut self, caveats: Vec<Caveat>) {
        self.deferred.extend(caveats);
    }
}

impl Drop for ChangeRegistry {
    fn drop(&mut self) {
        self.end();
    }
}

/// Writes a value, and fails unless it is read back.
fn set(files: &impl SettingFiles, path: &str, value: &str) -> Result<String, RefusalReason> {
    files.write(path, value)?;
    let now = files.read(path)?;
    if is_same_value(&now, value) { Ok(now) } else { Err(SettingRefusal::Kept { value: now }.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::scripted::ScriptedFiles;

    fn refusal_of(write: fn(&str) -> io::Result<String>) -> String {
        set(&ScriptedFiles::new("1", write), "/sys/a", "7").unwrap_or_else(|refused| refused.to_string())
    }

    #[test]
    fn only_a_value_that_is_read_back_is_in_force() {
        assert_eq!(refusal_of(|value| Ok(value.to_owned())), "7");
        assert_eq!(refusal_of(|_| Ok("00000000,00000007".to_owned())), "00000000,00000007", "a mask");
        assert_eq!(refusal_of(|_| Ok("4".to_owned())), "the kernel took it and kept `4`", "it clamps");
        assert_eq!(refusal_of(|_| Ok("1".to_owned())), "the kernel took it and kept `1`", "it changes back");
        assert!(refusal_of(|_| Err(io::Error::from_raw_os_error(1))).contains("not permitted"), "it refuses");
    }
}
