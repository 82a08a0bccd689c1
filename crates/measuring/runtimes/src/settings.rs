//! Requested and effective settings of a probe.

use std::io;

use howlate_linux::child::{SpawnReport, SpawnSettings};
use howlate_linux::sched;
use howlate_linux::termination::is_termination_nice;
use howlate_model::{
    Caveat, CpuSet, EffectiveSettings, Policy, RefusedSettings, SettingRefusal, Span, Task, ThreadSettings,
};
use howlate_procfs::{CgroupMembership, ProcessStat, Root, threads};

/// The settings to start a program with.
pub(crate) fn from_task(task: &Task) -> SpawnSettings {
    let bound = task.cpu.filter(|_| !is_deadline(task.policy));
    SpawnSettings { policy: task.policy, slack: task.slack, cpus: bound.map(|cpu| CpuSet::from_iter([cpu])) }
}

/// Caveats about all differences between the requested settings, those `in_force` and the `apart` threads.
pub(crate) fn caveats(
    task: &Task,
    applied: &SpawnReport,
    in_force: &EffectiveSettings,
    apart: usize,
) -> Vec<Caveat> {
    let mut caveats = refused(task, applied).caveats(task, in_force);
    caveats.retain(|caveat| !is_termination_nice(caveat));
    caveats.extend(threads_apart(apart));
    caveats
}

/// Current settings of all threads of process `pid` that another process may change.
pub(crate) fn of_threads(pid: u32) -> Vec<(u32, ThreadSettings)> {
    threads(&Root::live(), pid).into_iter().map(|tid| (tid, of_thread(tid))).collect()
}

/// Caveats about the first thread with other settings than it `began` with. Ended threads are skipped.
pub(crate) fn changed_since(began: &[(u32, ThreadSettings)]) -> Vec<Caveat> {
    let changes = began.iter().map(|(tid, began)| began.changes_until(&of_thread(*tid)));
    changes.into_iter().find(|changes| !changes.is_empty()).unwrap_or_default()
}

fn of_thread(tid: u32) -> ThreadSettings {
    let root = Root::live();
    // Only those with CAP_SYS_NICE may read another thread's: proc_pid_timerslack_ns(5).
    let slack = root.read(&format!("/proc/{tid}/timerslack_ns")).ok();
    ThreadSettings {
        policy: sched::policy(tid).ok(),
        slack: slack.and_then(|text| text.trim().parse().ok()).map(Span::from_nanos),
        slice: sched::slice_of(tid).ok().flatten(),
        cpus: sched::affinity_of(tid).ok(),
        group: group(&root, tid),
    }
}

/// Control groups of a live thread. The kernel moves an ending thread to the root groups of cgroup v1, so the groups count
/// only if the thread is still not ending afterwards. Source: `cgroup_exit` in kernel/exit.c.
fn group(root: &Root, tid: u32) -> Option<String> {
    let group = CgroupMembership::read(root, tid).reading.text().map(str::to_owned);
    group.filter(|_| ProcessStat::read(root, tid).is_some_and(|stat| !stat.is_ending()))
}

const fn is_deadline(policy: Policy) -> bool {
    matches!(policy, Policy::Deadline { .. })
}

fn refused(task: &Task, applied: &SpawnReport) -> RefusedSettings {
    let refusal = |result: &io::Result<()>| result.as_ref().err().map(SettingRefusal::of_thread);
    let deadline = task.cpu.filter(|_| is_deadline(task.policy));
    let affinity = deadline.map(|_| SettingRefusal::DeadlineAffinity.into());
    RefusedSettings {
        policy: refusal(&applied.policy),
        affinity: affinity.or_else(|| refusal(&applied.cpus)),
        slack: applied.slack.is_err(),
        slice: task.slice.map(|_| SettingRefusal::SliceOfProgram.into()),
    }
}

fn threads_apart(threads: usize) -> Option<Caveat> {
    let threads = u32::try_from(threads).unwrap_or(u32::MAX);
    (threads > 0).then_some(Caveat::ThreadsApart { threads })
}
