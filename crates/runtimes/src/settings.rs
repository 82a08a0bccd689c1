//! The settings that a task asks for, and what became of them.

use std::io;

use howlate_linux::child::{Applied, Settings};
use howlate_model::{Caveat, CpuSet, InForce, Policy, Refused, SettingRefusal, Task};

/// What a program is to be started with.
pub(crate) fn from_task(task: &Task) -> Settings {
    let bound = task.cpu.filter(|_| !is_deadline(task.policy));
    Settings { policy: task.policy, slack: task.slack, cpus: bound.map(|cpu| CpuSet::from_iter([cpu])) }
}

/// Everything in which `in_force` and the `apart` threads of the program are not what was asked for.
pub(crate) fn caveats(task: &Task, applied: &Applied, in_force: &InForce, apart: usize) -> Vec<Caveat> {
    let mut caveats = refused(task, applied).caveats(task, in_force);
    caveats.extend(threads_apart(apart));
    caveats
}

const fn is_deadline(policy: Policy) -> bool {
    matches!(policy, Policy::Deadline { .. })
}

fn refused(task: &Task, applied: &Applied) -> Refused {
    let said = |result: &io::Result<()>| result.as_ref().err().map(SettingRefusal::of_thread);
    let deadline = task.cpu.filter(|_| is_deadline(task.policy));
    let affinity = deadline.map(|_| SettingRefusal::DeadlineAffinity.into());
    Refused {
        policy: said(&applied.policy),
        affinity: affinity.or_else(|| said(&applied.cpus)),
        slack: applied.slack.is_err(),
        slice: task.slice.map(|_| SettingRefusal::SliceOfProgram.into()),
    }
}

fn threads_apart(threads: usize) -> Option<Caveat> {
    let threads = u32::try_from(threads).unwrap_or(u32::MAX);
    (threads > 0).then_some(Caveat::ThreadsApart { threads })
}
