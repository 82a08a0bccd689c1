//! What became of the settings that a task requested for.

use crate::{AsText, Caveat, CpuSet, EffectiveSettings, Policy, SettingRefusal, Span, Task};

/// The kernel's errors while a task's settings were applied; `None` and `false` if it accepted them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefusedSettings {
    /// Error of setting the policy.
    pub policy: Option<AsText<SettingRefusal>>,
    /// Error of setting the affinity.
    pub affinity: Option<AsText<SettingRefusal>>,
    /// Whether setting the timer slack failed.
    pub slack: bool,
    /// Error of setting the slice.
    pub slice: Option<AsText<SettingRefusal>>,
}

impl RefusedSettings {
    /// Everything in which `in_force`, as read back, differs from what `task` requested.
    pub fn caveats(self, task: &Task, in_force: &EffectiveSettings) -> Vec<Caveat> {
        let policy = policy_caveat(task.policy, self.policy, in_force);
        let affinity = task.cpu.and_then(|cpu| affinity_caveat(cpu, self.affinity, &in_force.cpus));
        let slack = task.slack.and_then(|requested| slack_caveat(requested, self.slack, in_force));
        let slice = task.slice.and_then(|requested| slice_caveat(requested, self.slice, in_force));
        [policy, inherited(task, in_force), affinity, slack, slice].into_iter().flatten().collect()
    }
}

fn reports_other_value() -> AsText<SettingRefusal> {
    SettingRefusal::ReportsAnother.into()
}

fn policy_caveat(
    requested: Policy,
    refused: Option<AsText<SettingRefusal>>,
    in_force: &EffectiveSettings,
) -> Option<Caveat> {
    let differs = !requested.is_met_by(in_force.policy);
    let reason = refused.or_else(|| differs.then(reports_other_value))?;
    Some(Caveat::policy_refused(requested, in_force.policy, reason, None))
}

fn affinity_caveat(
    requested: u32,
    refused: Option<AsText<SettingRefusal>>,
    in_force: &CpuSet,
) -> Option<Caveat> {
    let requested = CpuSet::from_iter([requested]);
    let reason = refused.or_else(|| (*in_force != requested).then(reports_other_value))?;
    Some(Caveat::AffinityDiffers { asked: requested, in_force: in_force.clone(), reason })
}

/// Settings inherited from the process that started howlate, which a normal program would not have.
fn inherited(task: &Task, in_force: &EffectiveSettings) -> Option<Caveat> {
    match (task.policy, in_force.policy) {
        (Policy::Other { nice: None }, Policy::Other { nice: Some(nice) }) if nice.get() != 0 => {
            Some(Caveat::NiceInherited { nice })
        }
        (requested, _) if !requested.is_realtime() && task.slack.is_none() && in_force.slack.is_zero() => {
            Some(Caveat::SlackInherited { asked: requested })
        }
        _ => None,
    }
}

/// Real-time threads have no slack: losing a requested one is not worth a caveat.
fn slack_caveat(requested_ns: Span, refused: bool, in_force: &EffectiveSettings) -> Option<Caveat> {
    let met = !refused && in_force.slack == requested_ns;
    let none_needed = in_force.policy.is_realtime() && in_force.slack.is_zero();
    (!met && !none_needed)
        .then_some(Caveat::SlackDiffers { asked_ns: requested_ns, in_force_ns: in_force.slack })
}

/// Kernels before 6.12 accept a slice silently and ignore it.
fn slice_caveat(
    requested_ns: Span,
    refused: Option<AsText<SettingRefusal>>,
    in_force: &EffectiveSettings,
) -> Option<Caveat> {
    let met = refused.is_none() && in_force.slice == Some(requested_ns);
    let reason = refused.unwrap_or(SettingRefusal::NoSlices.into());
    (!met).then_some(Caveat::SliceRefused { asked_ns: requested_ns, reason })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OsError, Sleeper, Wait, Work};

    fn task(policy: &str, cpu: Option<u32>) -> Task {
        let target_ns = Span::from_millis(1);
        let work = Work::Sleep { mechanism: Sleeper::Wait(Wait::Nanosleep), target_ns };
        let (policy, slack) = (policy.parse().unwrap(), Some(Span::from_nanos(1)));
        Task { policy, slack, cpu, ..Task::new(work) }
    }

    fn in_force(policy: &str, slack_ns: u64) -> EffectiveSettings {
        EffectiveSettings {
            tid: 7,
            policy: policy.parse().unwrap(),
            slack: Span::from_nanos(slack_ns),
            cpus: "0-1".parse().unwrap(),
            memory_locked: false,
            dma_latency_us: None,
            slice: None,
        }
    }

    fn refusal(errno: i32) -> Option<AsText<SettingRefusal>> {
        Some(SettingRefusal::Kernel(OsError(errno)).into())
    }

    #[test]
    fn what_is_as_asked_needs_no_word() {
        assert_eq!(RefusedSettings::default().caveats(&task("nice:5", None), &in_force("nice:5", 1)), []);
        assert_eq!(RefusedSettings::default().caveats(&task("fifo:9", None), &in_force("fifo:9", 0)), []);
    }

    #[test]
    fn what_differs_is_named_whether_or_not_the_kernel_said_so() {
        let refused =
            RefusedSettings { policy: refusal(1), affinity: refusal(22), ..RefusedSettings::default() };
        let caveats = refused.caveats(&task("fifo:9", Some(5)), &in_force("nice:0", 50_000));
        assert!(
            matches!(&caveats[0], Caveat::PolicyRefused { reason, .. } if Some(reason) == refusal(1).as_ref())
        );
        assert!(
            matches!(&caveats[1], Caveat::AffinityDiffers { reason, .. } if Some(reason) == refusal(22).as_ref())
        );
        assert!(matches!(&caveats[2], Caveat::SlackDiffers { .. }));
        let silent = RefusedSettings::default().caveats(&task("fifo:9", None), &in_force("nice:3", 1));
        assert!(
            matches!(&silent[0], Caveat::PolicyRefused { reason, .. } if *reason == reports_other_value())
        );
    }
}
