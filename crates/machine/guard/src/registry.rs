//! What this process has changed, and the guardian who knows it too.

use std::io;
use std::mem::take;

use howlate_model::{AsText, Caveat, Setting, SettingRefusal, SettingWrite};

use crate::guardian::{Guardian, Trouble};
use crate::journal::{Journal, LockError};
use crate::saved_setting::{Changes, SavedSetting};
use crate::setting::{Kernel, Live, is_same, is_writable, read};

/// Why a setting is not in force.
type NotSet = AsText<SettingRefusal>;

impl From<LockError> for NotSet {
    fn from(error: LockError) -> Self {
        Self::Text(error.to_string())
    }
}

/// All changes of this process.
#[derive(Default)]
pub(crate) struct Keeper {
    journal: Option<Journal>,
    guardian: Option<Guardian>,
    changes: Changes,
    last_id: u32,
    /// What nobody has been told yet.
    untold: Vec<Caveat>,
}

impl Keeper {
    /// Sets a value and reads it back; also returns the number of the change.
    ///
    /// A value that is in force already is guarded as well: whoever set it may take it back.
    pub(crate) fn change(&mut self, path: &str, value: &str) -> Result<(Setting, u32), NotSet> {
        let before = read(path)?;
        self.change_from(before, path, value)
    }

    /// The same for a setting that is only lent: where it holds something else by now, or does later, that is somebody
    /// else's, and stays.
    pub(crate) fn lend(&mut self, write: &SettingWrite) -> Result<(Setting, u32), NotSet> {
        let before = read(&write.path)?;
        if !is_same(&before, &write.now) {
            return Err(SettingRefusal::Changed { was: write.now.clone(), now: before }.into());
        }
        let (setting, id) = self.change_from(before, &write.path, &write.value)?;
        // What is only watched over may be changed by what else is set: that is nobody else's.
        if !write.watched {
            self.lent(id, &setting.in_force);
        }
        Ok((setting, id))
    }

    /// Until the guardian knows it, the value from before would be put back whatever is found.
    fn lent(&mut self, id: u32, found: &str) {
        self.changes.lend(id, found);
        if let Some(Err(Trouble::Gone)) = self.guardian.as_mut().map(|guardian| guardian.lend(id, found)) {
            self.lost_guardian();
        }
    }

    fn change_from(&mut self, before: String, path: &str, value: &str) -> Result<(Setting, u32), NotSet> {
        self.last_id += 1;
        let change = SavedSetting {
            id: self.last_id,
            path: path.to_owned(),
            value: before.clone(),
            made: false,
            lent: None,
            since: SavedSetting::since(path),
        };
        let is_so = is_same(&before, value);
        if !is_so || is_writable(path) {
            self.remember(&change)?;
        }
        let in_force = if is_so { Ok(before.clone()) } else { set(&Live, path, value) };
        let in_force = in_force.inspect_err(|_| {
            let caveats = self.undo(&[change.id]);
            self.untold.extend(caveats);
        })?;
        Ok((Setting { path: change.path, before, in_force }, change.id))
    }

    /// Makes a control group; returns the number of the change.
    pub(crate) fn make(&mut self, path: &str) -> Result<u32, NotSet> {
        self.last_id += 1;
        let id = self.last_id;
        self.remember(&SavedSetting {
            id,
            path: path.to_owned(),
            value: String::new(),
            made: true,
            lent: None,
            since: None,
        })?;
        std::fs::create_dir(path).inspect_err(|_| drop(self.undo(&[id])))?;
        Ok(id)
    }

    fn remember(&mut self, change: &SavedSetting) -> Result<(), NotSet> {
        match self.guardian()?.remember(change) {
            Ok(()) => {}
            Err(Trouble::Refused(why)) => return Err(SettingRefusal::NotRemembered { why }.into()),
            Err(Trouble::Gone) => self.replace_guardian(change)?,
        }
        self.changes.all.push(change.clone());
        Ok(())
    }

    /// Locks the journal, unless that is done.
    pub(crate) fn begin(&mut self) -> Result<(), LockError> {
        if self.journal.is_none() {
            let (journal, left) = Journal::lock()?;
            self.untold.extend(left);
            self.journal = Some(journal);
        }
        Ok(())
    }

    fn guardian(&mut self) -> Result<&mut Guardian, NotSet> {
        self.begin()?;
        if let (None, Some(journal)) = (&self.guardian, &self.journal) {
            self.guardian = Some(Guardian::start(journal)?);
        }
        self.guardian.as_mut().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound).into())
    }

    /// Starts another one in the place of one that was killed, and tells it all.
    fn replace_guardian(&mut self, change: &SavedSetting) -> Result<(), NotSet> {
        self.lost_guardian();
        let known = self.changes.clone();
        let guardian = self.guardian()?;
        for one in known.all.iter().chain([change]) {
            let told = guardian.remember(one);
            told.map_err(|_| SettingRefusal::NotRemembered { why: "it is gone".to_owned() })?;
        }
        Ok(())
    }

    fn lost_guardian(&mut self) {
        self.guardian = None;
        if !self.untold.contains(&Caveat::GuardianGone) {
            self.untold.push(Caveat::GuardianGone);
        }
    }

    /// Takes some changes back, through the guardian, or without it if it was killed.
    pub(crate) fn undo(&mut self, ids: &[u32]) -> Vec<Caveat> {
        let ids: Vec<u32> = self.changes.all.iter().map(|one| one.id).filter(|id| ids.contains(id)).collect();
        if ids.is_empty() {
            return Vec::new();
        }
        match self.guardian.as_mut().map(|guardian| guardian.undo(&ids)) {
            Some(Ok(caveats)) => {
                self.changes.all.retain(|one| !ids.contains(&one.id));
                caveats
            }
            _ => {
                self.lost_guardian();
                let caveats = self.changes.undo(&ids);
                let is_back = |id: &&u32| self.changes.all.iter().all(|one| one.id != **id);
                let noted = self.journal.iter_mut();
                noted.for_each(|journal| {
                    ids.iter().filter(is_back).for_each(|id| drop(journal.note_undone(*id)))
                });
                caveats
            }
        }
    }

    /// Takes all back; tells that and whatever was not told yet.
    pub(crate) fn end(&mut self) -> Vec<Caveat> {
        let caveats = match self.guardian.take().map(Guardian::end) {
            None => Vec::new(),
            Some(Ok(caveats)) => {
                self.changes = Changes::default();
                caveats
            }
            Some(Err(_)) => {
                self.lost_guardian();
                let changes = take(&mut self.changes);
                match &mut self.journal {
                    Some(journal) => journal.end(changes),
                    None => changes.put_all_back().0,
                }
            }
        };
        self.journal = None;
        self.untold().into_iter().chain(caveats).collect()
    }

    /// What was not told yet.
    pub(crate) fn untold(&mut self) -> Vec<Caveat> {
        take(&mut self.untold)
    }

    /// Keeps what nobody could be told.
    pub(crate) fn tell_later(&mut self, caveats: Vec<Caveat>) {
        self.untold.extend(caveats);
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.end();
    }
}

/// Writes a value, and reads it back.
fn set(kernel: &impl Kernel, path: &str, value: &str) -> Result<String, NotSet> {
    kernel.write(path, value)?;
    let now = kernel.read(path)?;
    if is_same(&now, value) { Ok(now) } else { Err(SettingRefusal::Kept { value: now }.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::scripted::Scripted;

    fn refusal_of(write: fn(&str) -> io::Result<String>) -> String {
        set(&Scripted::new("1", write), "/sys/a", "7").unwrap_or_else(|refused| refused.to_string())
    }

    #[test]
    fn only_what_is_read_back_is_in_force() {
        assert_eq!(refusal_of(|value| Ok(value.to_owned())), "7");
        assert_eq!(refusal_of(|_| Ok("00000000,00000007".to_owned())), "00000000,00000007", "a mask");
        assert_eq!(refusal_of(|_| Ok("4".to_owned())), "the kernel took it and kept `4`", "it clamps");
        assert_eq!(refusal_of(|_| Ok("1".to_owned())), "the kernel took it and kept `1`", "it changes back");
        assert!(refusal_of(|_| Err(io::Error::from_raw_os_error(1))).contains("not permitted"), "it refuses");
    }
}
