//! Settings in force for a run, or one turn of it.

use std::io;
use std::mem::take;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use howlate_linux::dma_latency::DmaLatency;
use howlate_model::{AsText, Caveat, Setting, SettingRefusal, SettingWrite, SettingWriteKind};

use crate::journal::LockError;
use crate::registry::ChangeRegistry;
use crate::setting::{is_same_value, read_or_error};
use crate::setting_request::SettingRequest;

/// Changes settings, and guarantees that all are restored: when this is ended or dropped with the
/// last [`AppliedSettings`], or when the process is killed.
#[derive(Clone, Default)]
pub struct Guard {
    registry: Arc<Mutex<ChangeRegistry>>,
}

impl Guard {
    /// Applies the requests, as far as the machine permits, until the returned value is undone or
    /// dropped.
    pub fn apply(&self, requests: &[SettingRequest]) -> AppliedSettings {
        let mut applied = AppliedSettings::new(self);
        for request in requests {
            match request.paths() {
                Ok(paths) => paths.iter().for_each(|path| applied.change(request, path)),
                Err(reason) => applied.leave_out(&request.name, &request.value, reason.into()),
            }
        }
        applied.caveats.extend(self.registry().take_deferred());
        applied
    }

    /// Locks the journal before any setting is changed.
    ///
    /// # Errors
    ///
    /// When another howlate holds the lock, or there is no folder for a journal.
    pub fn begin(&self) -> Result<(), LockError> {
        self.registry().begin()
    }

    /// Like [`apply`](Self::apply), but external changes win: a file that no longer holds [`SettingWrite::now`] is left out, and a value
    /// that another program writes meanwhile is not restored.
    pub fn apply_writes(&self, writes: &[SettingWrite]) -> AppliedSettings {
        let mut applied = AppliedSettings::new(self);
        for write in writes {
            match write.kind() {
                SettingWriteKind::Request => applied.hold_dma_latency(write),
                SettingWriteKind::Setting => applied.write(write),
            }
        }
        applied.caveats.extend(self.registry().take_deferred());
        applied
    }

    /// Restores everything that is still changed; returns all caveats.
    pub fn end(&self) -> Vec<Caveat> {
        self.registry().end()
    }

    pub(crate) fn registry(&self) -> MutexGuard<'_, ChangeRegistry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Settings in force until this is undone or dropped. Several for the same file must be undone in
/// reverse order.
#[derive(Default)]
pub struct AppliedSettings {
    guard: Guard,
    /// The changed settings with the values read back.
    pub settings: Vec<Setting>,
    /// Settings that could not be changed.
    pub caveats: Vec<Caveat>,
    ids: Vec<u32>,
    /// In force as long as it is open.
    dma_latency: Vec<DmaLatency>,
}

impl AppliedSettings {
    fn new(guard: &Guard) -> Self {
        let (settings, caveats, ids, dma_latency) = Default::default();
        Self { guard: guard.clone(), settings, caveats, ids, dma_latency }
    }

    fn change(&mut self, request: &SettingRequest, path: &str) {
        let changed = self.guard.registry().change(path, &request.value);
        match changed {
            Ok((setting, id)) => {
                self.settings.push(setting);
                self.ids.push(id);
            }
            Err(reason) => self.leave_out(&request.name, &request.value, SettingRefusal::at(path, reason)),
        }
    }

    fn write(&mut self, write: &SettingWrite) {
        let changed = self.guard.registry().change_unless_modified(write);
        match changed {
            Ok((setting, id)) => {
                // A watched setting is not changed here; it is restored if other writes change it.
                self.settings.extend(Some(setting).filter(|_| !write.watched));
                self.ids.push(id);
            }
            Err(reason) => self.leave_out(&write.path, &write.value, reason),
        }
    }

    /// Holds `/dev/cpu_dma_latency` open.
    fn hold_dma_latency(&mut self, write: &SettingWrite) {
        match open_dma_latency(&write.value) {
            Ok(dma_latency) => self.dma_latency.push(dma_latency),
            Err(reason) => self.leave_out(&write.path, &write.value, reason),
        }
    }

    /// Whether no value differs from before.
    pub fn changed_nothing(&self) -> bool {
        let is_unchanged = |setting: &Setting| is_same_value(&setting.before, &setting.in_force);
        self.settings.iter().all(is_unchanged) && self.dma_latency.is_empty()
    }

    fn leave_out(&mut self, setting: &str, value: &str, reason: AsText<SettingRefusal>) {
        let (setting, asked) = (setting.to_owned(), value.to_owned());
        self.caveats.push(Caveat::SettingLeftOut { setting, asked, reason });
    }

    /// Restores what this changed. Returns caveats about external changes meanwhile, and failed restores.
    pub fn undo(mut self) -> Vec<Caveat> {
        self.restore()
    }

    fn restore(&mut self) -> Vec<Caveat> {
        let mut caveats: Vec<Caveat> =
            take(&mut self.settings).into_iter().filter_map(external_change).collect();
        self.dma_latency.clear();
        let mut registry = self.guard.registry();
        // The registry reports external changes that it keeps as well.
        let more = registry.undo(&take(&mut self.ids)).into_iter().chain(registry.take_deferred());
        let new: Vec<Caveat> = more.filter(|caveat| !caveats.contains(caveat)).collect();
        caveats.extend(new);
        caveats
    }
}

impl Drop for AppliedSettings {
    fn drop(&mut self) {
        let caveats = self.restore();
        self.guard.registry().defer_caveats(caveats);
    }
}

/// Fails if the limit is not in force.
fn open_dma_latency(micros: &str) -> Result<DmaLatency, AsText<SettingRefusal>> {
    let micros = micros.parse().map_err(io::Error::other)?;
    let mut dma_latency = DmaLatency::hold(micros)?;
    let in_force = dma_latency.in_force()?;
    if in_force <= micros {
        Ok(dma_latency)
    } else {
        Err(SettingRefusal::LatencyHeld { micros: in_force }.into())
    }
}

/// A setting that was in force at the start, but holds another value now.
fn external_change(setting: Setting) -> Option<Caveat> {
    let found = read_or_error(&setting.path)?;
    let Setting { path, in_force, .. } = setting;
    (found != in_force).then_some(Caveat::SettingChanged { path, set: in_force, found })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_setting_is_left_out_with_its_reason() {
        let request = SettingRequest::parse("kernel.no_such_setting", "1").unwrap();
        let applied = Guard::default().apply(&[request]);
        assert!(applied.settings.is_empty());
        let [Caveat::SettingLeftOut { setting, reason, .. }] = &applied.caveats[..] else {
            panic!("{:?}", applied.caveats);
        };
        assert_eq!(setting, "kernel.no_such_setting");
        assert!(reason.to_string().contains("this machine has no"), "{reason}");
    }
}
