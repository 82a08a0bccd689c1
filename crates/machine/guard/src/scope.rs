//! Settings in force for a while: a run, or one turn of it.

use std::io;
use std::mem::take;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use howlate_linux::dma_latency::DmaLatency;
use howlate_model::{AsText, Caveat, Setting, SettingRefusal, SettingWrite, SettingWriteKind};

use crate::journal::LockError;
use crate::registry::Keeper;
use crate::requested::Wanted;
use crate::setting::{is_same, read_or_why};

/// Changes settings, and sees to it that all are put back: when it is ended or dropped with the
/// last [`Applied`], or when the process is killed.
#[derive(Clone, Default)]
pub struct Guard {
    keeper: Arc<Mutex<Keeper>>,
}

impl Guard {
    /// Puts all that is wanted in force, as far as the machine lets it, until what is returned is
    /// undone or dropped.
    pub fn apply(&self, wanted: &[Wanted]) -> Applied {
        let mut applied = Applied::new(self);
        for one in wanted {
            match one.paths() {
                Ok(paths) => paths.iter().for_each(|path| applied.change(one, path)),
                Err(reason) => applied.leave_out(one, reason.into()),
            }
        }
        applied.caveats.extend(self.keeper().untold());
        applied
    }

    /// Makes sure that settings may be changed before any is.
    ///
    /// # Errors
    ///
    /// Why not: another howlate has some changed, or there is no place for a journal.
    pub fn begin(&self) -> Result<(), LockError> {
        self.keeper().begin()
    }

    /// The same for settings that are only lent: a file that holds something else than it did when it was looked at is left
    /// out, and what somebody else writes into one meanwhile stays.
    pub fn lend(&self, writes: &[SettingWrite]) -> Applied {
        let mut applied = Applied::new(self);
        for write in writes {
            match write.kind() {
                SettingWriteKind::Request => applied.hold(write),
                SettingWriteKind::Setting => applied.borrow(write),
            }
        }
        applied.caveats.extend(self.keeper().untold());
        applied
    }

    /// Puts back whatever is still changed; tells what could not be, and what else went wrong.
    pub fn end(&self) -> Vec<Caveat> {
        self.keeper().end()
    }

    pub(crate) fn keeper(&self) -> MutexGuard<'_, Keeper> {
        self.keeper.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Settings in force until this is undone or dropped. Of several for the same file, the last one
/// has to go first.
#[derive(Default)]
pub struct Applied {
    guard: Guard,
    /// What was changed, and what was read back.
    pub settings: Vec<Setting>,
    /// What could not be had.
    pub caveats: Vec<Caveat>,
    ids: Vec<u32>,
    /// What the kernel forgets when it is closed.
    held: Vec<DmaLatency>,
}

impl Applied {
    fn new(guard: &Guard) -> Self {
        let (settings, caveats, ids, held) = Default::default();
        Self { guard: guard.clone(), settings, caveats, ids, held }
    }

    fn change(&mut self, wanted: &Wanted, path: &str) {
        let changed = self.guard.keeper().change(path, &wanted.value);
        match changed {
            Ok((setting, id)) => {
                self.settings.push(setting);
                self.ids.push(id);
            }
            Err(reason) => self.leave_out(wanted, SettingRefusal::at(path, reason)),
        }
    }

    fn borrow(&mut self, write: &SettingWrite) {
        let lent = self.guard.keeper().lend(write);
        match lent {
            Ok((setting, id)) => {
                // What is to stay as it is may be changed by what else is set, and is put back after that.
                self.settings.extend(Some(setting).filter(|_| !write.watched));
                self.ids.push(id);
            }
            Err(reason) => self.refused(write, reason),
        }
    }

    /// `/dev/cpu_dma_latency`, with its number in words.
    fn hold(&mut self, write: &SettingWrite) {
        match held_at(&write.value) {
            Ok(held) => self.held.push(held),
            Err(reason) => self.refused(write, reason),
        }
    }

    /// Whether nothing of what was wanted is in force but what was so already.
    pub fn is_nothing(&self) -> bool {
        let is_as_before = |one: &Setting| is_same(&one.before, &one.in_force);
        self.settings.iter().all(is_as_before) && self.held.is_empty()
    }

    fn leave_out(&mut self, wanted: &Wanted, reason: AsText<SettingRefusal>) {
        let (setting, asked) = (wanted.name.clone(), wanted.value.clone());
        self.caveats.push(Caveat::SettingLeftOut { setting, asked, reason });
    }

    fn refused(&mut self, write: &SettingWrite, reason: AsText<SettingRefusal>) {
        let (setting, asked) = (write.path.clone(), write.value.clone());
        self.caveats.push(Caveat::SettingLeftOut { setting, asked, reason });
    }

    /// Puts back what this changed. Tells what somebody else changed meanwhile, and what could not be put back.
    pub fn undo(mut self) -> Vec<Caveat> {
        self.put_back()
    }

    fn put_back(&mut self) -> Vec<Caveat> {
        let mut caveats: Vec<Caveat> =
            take(&mut self.settings).into_iter().filter_map(changed_since).collect();
        self.held.clear();
        let mut keeper = self.guard.keeper();
        // What somebody else has set is told by whoever leaves it as well.
        let found = keeper.undo(&take(&mut self.ids)).into_iter().chain(keeper.untold());
        let new: Vec<Caveat> = found.filter(|caveat| !caveats.contains(caveat)).collect();
        caveats.extend(new);
        caveats
    }
}

impl Drop for Applied {
    fn drop(&mut self) {
        let caveats = self.put_back();
        self.guard.keeper().tell_later(caveats);
    }
}

/// Read back at the end: a value that does not stand was not in force all the time.
fn held_at(micros: &str) -> Result<DmaLatency, AsText<SettingRefusal>> {
    let micros = micros.parse().map_err(io::Error::other)?;
    let mut held = DmaLatency::hold(micros)?;
    let in_force = held.in_force()?;
    if in_force <= micros { Ok(held) } else { Err(SettingRefusal::LatencyHeld { micros: in_force }.into()) }
}

fn changed_since(setting: Setting) -> Option<Caveat> {
    let found = read_or_why(&setting.path)?;
    let Setting { path, in_force, .. } = setting;
    (found != in_force).then_some(Caveat::SettingChanged { path, set: in_force, found })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_machine_does_not_have_is_left_out_with_its_reason() {
        let wanted = Wanted::parse("kernel.no_such_setting", "1").unwrap();
        let applied = Guard::default().apply(&[wanted]);
        assert!(applied.settings.is_empty());
        let [Caveat::SettingLeftOut { setting, reason, .. }] = &applied.caveats[..] else {
            panic!("{:?}", applied.caveats);
        };
        assert_eq!(setting, "kernel.no_such_setting");
        assert!(reason.to_string().contains("this machine has no"), "{reason}");
    }
}
