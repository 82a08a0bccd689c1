//! Settings applied to threads of the user's program from outside, and restored.

use std::collections::BTreeMap;
use std::io;

use howlate_guard::{
    AppliedSettings, Guard, ThreadSettingKind, changed_value, read_thread_setting, thread_setting_name,
};
use howlate_linux::attributes::SchedAttributes;
use howlate_model::{Caveat, Policy, SettingWrite, Span, Task, TurnFailure};
use howlate_render::Unrestored;

use super::observer::ThreadOfProcess;

/// The settings of a turn that differ from the baseline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RequestedSettings {
    policy: Option<Policy>,
    slack: Option<Span>,
    slice: Option<Span>,
    cpu: Option<u32>,
}

impl RequestedSettings {
    /// The settings of `task` that differ from those of `base`.
    pub(super) fn difference(task: &Task, base: &Task) -> Self {
        Self {
            policy: Some(task.policy).filter(|policy| *policy != base.policy),
            slack: task.slack.filter(|_| task.slack != base.slack),
            slice: task.slice.filter(|_| task.slice != base.slice),
            cpu: task.cpu.filter(|_| task.cpu != base.cpu),
        }
    }

    fn subjects(&self) -> Vec<ThreadSettingKind> {
        let subjects = [
            (ThreadSettingKind::Scheduling, self.policy.is_some() || self.slice.is_some()),
            (ThreadSettingKind::TimerSlack, self.slack.is_some()),
            (ThreadSettingKind::Cpus, self.cpu.is_some()),
        ];
        subjects.into_iter().filter(|(_, is_requested)| *is_requested).map(|(subject, _)| subject).collect()
    }

    /// Current and new value for a thread; `None` if they are equal.
    fn change_of(&self, subject: ThreadSettingKind, tid: u32) -> io::Result<Option<(String, String)>> {
        let now = read_thread_setting(subject, tid)?;
        let new = match subject {
            ThreadSettingKind::Scheduling => self.scheduling(now.parse()?).to_string(),
            // Real-time threads have no timer slack.
            ThreadSettingKind::TimerSlack if SchedAttributes::of_thread(tid)?.is_realtime() => now.clone(),
            ThreadSettingKind::TimerSlack => {
                self.slack.map_or_else(|| now.clone(), |slack| slack.as_nanos().to_string())
            }
            ThreadSettingKind::Cpus => self.cpu.map_or_else(|| now.clone(), |cpu| cpu.to_string()),
        };
        Ok((now != new).then_some((now, new)))
    }

    /// New scheduling attributes: a real-time thread keeps its own, a slice applies only to normal threads.
    fn scheduling(&self, now: SchedAttributes) -> SchedAttributes {
        if !now.is_fair() {
            return now;
        }
        let new = self.policy.map_or(now, |policy| now.with_policy(policy));
        self.slice.filter(|_| new.is_fair()).map_or(new, |slice| new.with_slice(slice))
    }
}

/// The settings that were applied to the program's threads.
pub(super) struct ExternalSettings {
    guard: Guard,
    applied: Vec<AppliedSettings>,
    /// The last write to each file, with the value before it.
    written: BTreeMap<String, SettingWrite>,
}

impl ExternalSettings {
    pub(super) const fn new(guard: Guard) -> Self {
        Self { guard, applied: Vec::new(), written: BTreeMap::new() }
    }

    /// Applies the settings to threads; returns failures of single threads.
    ///
    /// # Errors
    ///
    /// When a setting could not be applied to any thread, with the reason.
    pub(super) fn apply(
        &mut self,
        requested: &RequestedSettings,
        threads: &[ThreadOfProcess],
    ) -> Result<Vec<Caveat>, TurnFailure> {
        let mut caveats = Vec::new();
        for subject in requested.subjects() {
            let (failures, in_force) = self.apply_subject(requested, subject, threads);
            if !in_force {
                let reason = failures.iter().find_map(Caveat::setting_left_out);
                return Err(reason.unwrap_or(TurnFailure::NoThread));
            }
            caveats.extend(failures);
        }
        Ok(caveats)
    }

    /// Applies the settings to new threads; returns failures.
    pub(super) fn apply_to_new(
        &mut self,
        requested: &RequestedSettings,
        threads: &[ThreadOfProcess],
    ) -> Vec<Caveat> {
        requested
            .subjects()
            .into_iter()
            .flat_map(|subject| self.apply_subject(requested, subject, threads).0)
            .collect()
    }

    /// Failures for one subject, and whether it is in force for any thread.
    fn apply_subject(
        &mut self,
        requested: &RequestedSettings,
        subject: ThreadSettingKind,
        threads: &[ThreadOfProcess],
    ) -> (Vec<Caveat>, bool) {
        let (mut writes, mut failures) = (Vec::new(), Vec::new());
        for thread in threads {
            match writes_of(requested, subject, *thread) {
                Ok(thread_writes) => writes.extend(thread_writes),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => failures.push(failure(subject, *thread, &error)),
            }
        }
        let applied = self.guard.apply_writes(&writes);
        let in_force = !applied.changed_nothing();
        failures.extend(applied.caveats.iter().filter(|caveat| is_of_live_thread(caveat, &writes)).cloned());
        self.written.extend(writes.into_iter().map(|write| (write.path.clone(), write)));
        self.applied.push(applied);
        (failures, in_force)
    }

    /// Restores everything; returns what could not be restored, and what another program changed meanwhile.
    pub(super) fn undo(&mut self) -> Vec<Caveat> {
        let mut applied_settings = std::mem::take(&mut self.applied);
        let mut caveats = Vec::new();
        while let Some(applied) = applied_settings.pop() {
            caveats.extend(applied.undo());
        }
        caveats
    }

    /// Settings that do not have their old value again.
    pub(super) fn unrestored(&self) -> Vec<Unrestored> {
        let difference = |write: &SettingWrite| {
            let now = changed_value(write)?;
            Some(Unrestored { path: write.path.clone(), before: write.now.clone(), now })
        };
        self.written.values().filter_map(difference).collect()
    }
}

/// The writes for one thread. The kernel changes the timer slack when a thread becomes real-time, and back: that is restored as
/// well.
fn writes_of(
    requested: &RequestedSettings,
    subject: ThreadSettingKind,
    (tid, process): ThreadOfProcess,
) -> io::Result<Vec<SettingWrite>> {
    let write = |subject, now: String, value: String, watched| {
        thread_setting_name(subject, tid, process).map(|path| SettingWrite { path, now, value, watched })
    };
    let Some((now, value)) = requested.change_of(subject, tid)? else { return Ok(Vec::new()) };
    let becomes_realtime =
        subject == ThreadSettingKind::Scheduling && requested.policy.is_some_and(Policy::is_realtime);
    if !becomes_realtime {
        return Ok(vec![write(subject, now, value, false)?]);
    }
    let slack = read_thread_setting(ThreadSettingKind::TimerSlack, tid)?;
    let watched = write(ThreadSettingKind::TimerSlack, slack.clone(), slack, true)?;
    Ok(vec![watched, write(subject, now, value, false)?])
}

fn failure(subject: ThreadSettingKind, (tid, process): ThreadOfProcess, error: &io::Error) -> Caveat {
    let setting = thread_setting_name(subject, tid, process).unwrap_or_else(|_| format!("thread {tid}"));
    Caveat::SettingLeftOut { setting, asked: String::new(), reason: error.into() }
}

/// Failures of threads that have ended meanwhile are ignored.
fn is_of_live_thread(caveat: &Caveat, writes: &[SettingWrite]) -> bool {
    let Caveat::SettingLeftOut { setting, .. } = caveat else { return true };
    let thread = writes.iter().find(|write| write.path == *setting);
    thread.is_none_or(|write| howlate_guard::thread_exists(&write.path))
}
