//! Settings in force for a while: a run, or one turn of it.

use std::mem::take;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use howlate_model::{Caveat, Setting};

use crate::keeper::Keeper;
use crate::setting::read;
use crate::wanted::Wanted;

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
        let (settings, caveats, ids) = Default::default();
        let mut applied = Applied { guard: self.clone(), settings, caveats, ids };
        for one in wanted {
            match one.paths() {
                Ok(paths) => paths.iter().for_each(|path| applied.change(one, path)),
                Err(reason) => applied.leave_out(one, reason),
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
}

impl Applied {
    fn change(&mut self, wanted: &Wanted, path: &str) {
        let changed = self.guard.keeper().change(path, &wanted.value);
        match changed {
            Ok((setting, id)) => {
                self.settings.push(setting);
                self.ids.push(id);
            }
            Err(reason) => self.leave_out(wanted, format!("{path}: {reason}")),
        }
    }

    fn leave_out(&mut self, wanted: &Wanted, reason: impl ToString) {
        self.caveats.push(Caveat::SettingLeftOut {
            setting: wanted.name.clone(),
            asked: wanted.value.clone(),
            reason: reason.to_string(),
        });
    }

    /// Puts back what this changed. Tells what somebody else changed meanwhile, and what could not be put back.
    pub fn undo(mut self) -> Vec<Caveat> {
        self.put_back()
    }

    fn put_back(&mut self) -> Vec<Caveat> {
        let mut caveats: Vec<Caveat> =
            take(&mut self.settings).into_iter().filter_map(changed_since).collect();
        let mut keeper = self.guard.keeper();
        caveats.extend(keeper.undo(&take(&mut self.ids)));
        caveats.extend(keeper.untold());
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
fn changed_since(setting: Setting) -> Option<Caveat> {
    let found = read(&setting.path).unwrap_or_else(|error| error.to_string());
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
        assert!(reason.contains("this machine has no"), "{reason}");
    }
}
