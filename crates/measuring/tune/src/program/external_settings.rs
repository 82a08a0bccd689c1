//! Settings that threads of others are given from outside, and that are put back.

use std::collections::BTreeMap;
use std::io;

use howlate_guard::{
    AppliedSettings, Guard, ThreadSettingKind, changed_value, read_thread_setting, thread_setting_name,
};
use howlate_linux::attributes::SchedAttributes;
use howlate_model::{Caveat, Policy, SettingWrite, Span, Task, TurnFailure};
use howlate_render::Unrestored;

use super::observer::OfProgram;

/// What a turn's threads are to have that those of the baseline do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RequestedSettings {
    policy: Option<Policy>,
    slack: Option<Span>,
    slice: Option<Span>,
    cpu: Option<u32>,
}

impl RequestedSettings {
    /// By `task`, where `base` is the baseline's.
    pub(super) fn by(task: &Task, base: &Task) -> Self {
        Self {
            policy: Some(task.policy).filter(|policy| *policy != base.policy),
            slack: task.slack.filter(|_| task.slack != base.slack),
            slice: task.slice.filter(|_| task.slice != base.slice),
            cpu: task.cpu.filter(|_| task.cpu != base.cpu),
        }
    }

    fn subjects(&self) -> Vec<ThreadSettingKind> {
        let all = [
            (ThreadSettingKind::Scheduling, self.policy.is_some() || self.slice.is_some()),
            (ThreadSettingKind::TimerSlack, self.slack.is_some()),
            (ThreadSettingKind::Cpus, self.cpu.is_some()),
        ];
        all.into_iter().filter(|(_, is_asked)| *is_asked).map(|(subject, _)| subject).collect()
    }

    /// What a thread is to be subject to, where that is something else than now, each with what it is now.
    fn of_thread(&self, subject: ThreadSettingKind, tid: u32) -> io::Result<Option<(String, String)>> {
        let now = read_thread_setting(subject, tid)?;
        let wanted = match subject {
            ThreadSettingKind::Scheduling => self.scheduling(now.parse()?).to_string(),
            // Real-time threads have none.
            ThreadSettingKind::TimerSlack if SchedAttributes::of_thread(tid)?.is_realtime() => now.clone(),
            ThreadSettingKind::TimerSlack => {
                self.slack.map_or_else(|| now.clone(), |slack| slack.as_nanos().to_string())
            }
            ThreadSettingKind::Cpus => self.cpu.map_or_else(|| now.clone(), |cpu| cpu.to_string()),
        };
        Ok((now != wanted).then_some((now, wanted)))
    }

    /// What suits a thread of what is asked: an ordinary one has nice value and slice, a real-time one stays as it is.
    fn scheduling(&self, now: SchedAttributes) -> SchedAttributes {
        if !now.is_fair() {
            return now;
        }
        let new = self.policy.map_or(now, |policy| now.with_policy(policy));
        self.slice.filter(|_| new.is_fair()).map_or(new, |slice| new.with_slice(slice))
    }
}

/// What threads of others have been given.
pub(super) struct Outside {
    guard: Guard,
    applied: Vec<AppliedSettings>,
    /// What threads held when they were last given something else.
    before: BTreeMap<String, SettingWrite>,
}

impl Outside {
    pub(super) const fn by(guard: Guard) -> Self {
        Self { guard, applied: Vec::new(), before: BTreeMap::new() }
    }

    /// Gives threads what is asked; tells what could not be had of some.
    ///
    /// # Errors
    ///
    /// Where something that is asked is in force nowhere: why.
    pub(super) fn apply(
        &mut self,
        asked: &RequestedSettings,
        threads: &[OfProgram],
    ) -> Result<Vec<Caveat>, TurnFailure> {
        let mut caveats = Vec::new();
        for subject in asked.subjects() {
            let (refused, in_force) = self.give(asked, subject, threads);
            if !in_force {
                let refused = refused.iter().find_map(Caveat::setting_left_out);
                return Err(refused.unwrap_or(TurnFailure::NoThread));
            }
            caveats.extend(refused);
        }
        Ok(caveats)
    }

    /// Gives it to threads that have come; what cannot be had is told.
    pub(super) fn also(&mut self, asked: &RequestedSettings, come: &[OfProgram]) -> Vec<Caveat> {
        asked.subjects().into_iter().flat_map(|subject| self.give(asked, subject, come).0).collect()
    }

    /// What could not be had of one subject, and whether any thread has it.
    fn give(
        &mut self,
        asked: &RequestedSettings,
        subject: ThreadSettingKind,
        threads: &[OfProgram],
    ) -> (Vec<Caveat>, bool) {
        let (mut writes, mut refused) = (Vec::new(), Vec::new());
        for thread in threads {
            match writes_of(asked, subject, *thread) {
                Ok(found) => writes.extend(found),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => refused.push(left_out(subject, *thread, &error)),
            }
        }
        let applied = self.guard.apply_writes(&writes);
        let in_force = !applied.changed_nothing();
        refused.extend(applied.caveats.iter().filter(|one| is_of_the_living(one, &writes)).cloned());
        self.before.extend(writes.into_iter().map(|write| (write.path.clone(), write)));
        self.applied.push(applied);
        (refused, in_force)
    }

    /// Puts all of it back; tells what could not be, and what somebody else has changed meanwhile.
    pub(super) fn undo(&mut self) -> Vec<Caveat> {
        let mut all = std::mem::take(&mut self.applied);
        let mut caveats = Vec::new();
        while let Some(applied) = all.pop() {
            caveats.extend(applied.undo());
        }
        caveats
    }

    /// What threads hold that is something else than before.
    pub(super) fn left(&self) -> Vec<Unrestored> {
        let left = |write: &SettingWrite| {
            let now = changed_value(write)?;
            Some(Unrestored { path: write.path.clone(), before: write.now.clone(), now })
        };
        self.before.values().filter_map(left).collect()
    }
}

/// What is written for one thread. The kernel changes the timer slack of threads that become real-time ones and back: that
/// is put back as well.
fn writes_of(
    asked: &RequestedSettings,
    subject: ThreadSettingKind,
    (tid, process): OfProgram,
) -> io::Result<Vec<SettingWrite>> {
    let write = |subject, now: String, value: String, watched| {
        thread_setting_name(subject, tid, process).map(|path| SettingWrite { path, now, value, watched })
    };
    let Some((now, value)) = asked.of_thread(subject, tid)? else { return Ok(Vec::new()) };
    let becomes_realtime =
        subject == ThreadSettingKind::Scheduling && asked.policy.is_some_and(Policy::is_realtime);
    if !becomes_realtime {
        return Ok(vec![write(subject, now, value, false)?]);
    }
    let slack = read_thread_setting(ThreadSettingKind::TimerSlack, tid)?;
    let watched = write(ThreadSettingKind::TimerSlack, slack.clone(), slack, true)?;
    Ok(vec![watched, write(subject, now, value, false)?])
}

fn left_out(subject: ThreadSettingKind, (tid, process): OfProgram, error: &io::Error) -> Caveat {
    let setting = thread_setting_name(subject, tid, process).unwrap_or_else(|_| format!("thread {tid}"));
    Caveat::SettingLeftOut { setting, asked: String::new(), reason: error.into() }
}

/// A thread that has ended since it was looked at is nothing to tell of.
fn is_of_the_living(caveat: &Caveat, writes: &[SettingWrite]) -> bool {
    let Caveat::SettingLeftOut { setting, .. } = caveat else { return true };
    let thread = writes.iter().find(|write| write.path == *setting);
    thread.is_none_or(|write| howlate_guard::thread_exists(&write.path))
}
