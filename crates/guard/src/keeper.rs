//! What this process has changed, and the guardian who knows it too.

use std::io;
use std::mem::take;

use howlate_model::{Caveat, Setting};

use crate::before::{Before, Changes};
use crate::guardian::{Guardian, Trouble};
use crate::journal::{Journal, LockError};
use crate::setting::{is_writable, read, write};

/// Why a setting is not in force.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotSet {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error("the process that would put it back cannot remember it: {0}")]
    NotRemembered(String),
    #[error("the kernel took it and kept `{0}`")]
    Kept(String),
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
        self.last_id += 1;
        let change = Before { id: self.last_id, path: path.to_owned(), value: before.clone(), made: false };
        if before != value || is_writable(path) {
            self.remember(&change)?;
        }
        if before != value {
            let set = write(path, value).map_err(NotSet::from).and_then(|()| Ok(read(path)?));
            match set {
                Ok(now) if now == value => {}
                other => {
                    let caveats = self.undo(&[change.id]);
                    self.untold.extend(caveats);
                    return Err(other.map_or_else(|error| error, NotSet::Kept));
                }
            }
        }
        Ok((Setting { path: change.path, before, in_force: value.to_owned() }, change.id))
    }

    /// Makes a control group; returns the number of the change.
    pub(crate) fn make(&mut self, path: &str) -> Result<u32, NotSet> {
        self.last_id += 1;
        let id = self.last_id;
        self.remember(&Before { id, path: path.to_owned(), value: String::new(), made: true })?;
        std::fs::create_dir(path).inspect_err(|_| drop(self.undo(&[id])))?;
        Ok(id)
    }

    fn remember(&mut self, change: &Before) -> Result<(), NotSet> {
        match self.guardian()?.remember(change) {
            Ok(()) => {}
            Err(Trouble::Refused(reason)) => return Err(NotSet::NotRemembered(reason)),
            Err(Trouble::Gone) => self.replace_guardian(change)?,
        }
        self.changes.all.push(change.clone());
        Ok(())
    }

    fn guardian(&mut self) -> Result<&mut Guardian, NotSet> {
        if self.journal.is_none() {
            let (journal, left) = Journal::lock()?;
            self.untold.extend(left);
            self.journal = Some(journal);
        }
        if let (None, Some(journal)) = (&self.guardian, &self.journal) {
            self.guardian = Some(Guardian::start(journal)?);
        }
        self.guardian.as_mut().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound).into())
    }

    /// Starts another one in the place of one that was killed, and tells it all.
    fn replace_guardian(&mut self, change: &Before) -> Result<(), NotSet> {
        self.lost_guardian();
        let known = self.changes.clone();
        let guardian = self.guardian()?;
        for one in known.all.iter().chain([change]) {
            let told = guardian.remember(one);
            told.map_err(|_| NotSet::NotRemembered("it is gone".to_owned()))?;
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
                let noted = self.journal.iter_mut();
                noted.for_each(|journal| ids.iter().for_each(|id| drop(journal.note_undone(*id))));
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
                take(&mut self.changes).put_all_back()
            }
        };
        if let Some(mut journal) = self.journal.take() {
            drop(journal.clear());
        }
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
