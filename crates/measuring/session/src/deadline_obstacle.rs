//! Finds the reason why the kernel refused `SCHED_DEADLINE`.

use howlate_model::{AsText, CpuSet, OsError, Policy, PolicyRemedy, SettingRefusal, System};
use howlate_procfs::{Root, Status};

/// `EPERM`, `EBUSY` and `EINVAL` of `<asm-generic/errno-base.h>`.
const NOT_PERMITTED: i32 = 1;
const BUSY: i32 = 16;
const INVALID: i32 = 22;
/// `CAP_SYS_NICE` of `<linux/capability.h>`.
const SYS_NICE: u32 = 23;

/// State of the machine that the kernel checks.
#[derive(Clone, Debug)]
pub(crate) struct DeadlineFacts {
    may: bool,
    allowed: CpuSet,
    online: CpuSet,
    /// Share of real-time and deadline threads in each period, in microseconds.
    runtime_us: i64,
    period_us: i64,
    shortest_us: u64,
    longest_us: u64,
}

impl DeadlineFacts {
    /// Reads the current state; missing files give the kernel defaults.
    pub(crate) fn read(system: &System) -> Self {
        let root = Root::live();
        let file = |name: &str| root.read(&format!("/proc/sys/kernel/{name}")).ok();
        let number = |name: &str, usual: i64| file(name).and_then(|text| text.parse().ok()).unwrap_or(usual);
        let length = |name: &str, usual: u64| file(name).and_then(|text| text.parse().ok()).unwrap_or(usual);
        Self {
            may: Status::read_own(&root).has_bit("CapEff", SYS_NICE).unwrap_or(true),
            allowed: system.allowed.clone(),
            online: system.online.clone(),
            runtime_us: number("sched_rt_runtime_us", 950_000),
            period_us: number("sched_rt_period_us", 1_000_000),
            shortest_us: length("sched_deadline_period_min_us", 100),
            longest_us: length("sched_deadline_period_max_us", 1 << 22),
        }
    }

    /// Why `threads` were refused the policy, in the order of the checks of `__sched_setscheduler` in `kernel/sched/syscalls.c`.
    pub(crate) fn obstacle(
        &self,
        policy: Policy,
        reason: &AsText<SettingRefusal>,
        threads: usize,
    ) -> PolicyRemedy {
        let AsText::Value(SettingRefusal::Kernel(OsError(number)) | SettingRefusal::Os(OsError(number))) =
            reason
        else {
            return PolicyRemedy::DeadlineRights;
        };
        match *number {
            NOT_PERMITTED if !self.may => PolicyRemedy::DeadlineRights,
            NOT_PERMITTED if self.runtime_us == 0 => PolicyRemedy::DeadlineNoShare,
            NOT_PERMITTED if self.allowed != self.online => {
                PolicyRemedy::DeadlineAffinity { allowed: self.allowed.clone(), online: self.online.clone() }
            }
            BUSY => self.bandwidth(policy, threads),
            INVALID => {
                PolicyRemedy::DeadlineLengths { shortest_us: self.shortest_us, longest_us: self.longest_us }
            }
            _ => PolicyRemedy::DeadlineRights,
        }
    }

    fn bandwidth(&self, policy: Policy, threads: usize) -> PolicyRemedy {
        let Policy::Deadline { runtime, deadline_period } = policy else {
            return PolicyRemedy::DeadlineRights;
        };
        let share = self.runtime_us.saturating_mul(100).checked_div(self.period_us).unwrap_or(0);
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        PolicyRemedy::DeadlineBandwidth {
            threads: count(threads),
            runtime_ns: runtime,
            period_ns: deadline_period,
            share_percent: u32::try_from(share).unwrap_or(100),
            cpus: count(self.online.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(allowed: &str) -> DeadlineFacts {
        DeadlineFacts {
            may: true,
            allowed: allowed.parse().unwrap(),
            online: "0-1".parse().unwrap(),
            runtime_us: 950_000,
            period_us: 1_000_000,
            shortest_us: 100,
            longest_us: 4_194_304,
        }
    }

    fn obstacle(facts: &DeadlineFacts, number: i32) -> PolicyRemedy {
        let policy: Policy = "deadline:900us/1ms".parse().unwrap();
        facts.obstacle(policy, &SettingRefusal::Kernel(OsError(number)).into(), 3)
    }

    #[test]
    fn each_refusal_has_its_reason() {
        let affinity = obstacle(&facts("1"), NOT_PERMITTED);
        let cpus = |list: &str| list.parse::<CpuSet>().unwrap();
        assert_eq!(affinity, PolicyRemedy::DeadlineAffinity { allowed: cpus("1"), online: cpus("0-1") });
        let bandwidth = obstacle(&facts("0-1"), BUSY);
        let is_told = matches!(
            bandwidth,
            PolicyRemedy::DeadlineBandwidth { threads: 3, share_percent: 95, cpus: 2, .. }
        );
        assert!(is_told, "{bandwidth:?}");
        let unprivileged = DeadlineFacts { may: false, ..facts("1") };
        assert_eq!(obstacle(&unprivileged, NOT_PERMITTED), PolicyRemedy::DeadlineRights);
        let none = DeadlineFacts { runtime_us: 0, ..facts("1") };
        assert_eq!(obstacle(&none, NOT_PERMITTED), PolicyRemedy::DeadlineNoShare);
        // A right that holds in a user namespace alone.
        assert_eq!(obstacle(&facts("0-1"), NOT_PERMITTED), PolicyRemedy::DeadlineRights);
        let lengths = PolicyRemedy::DeadlineLengths { shortest_us: 100, longest_us: 4_194_304 };
        assert_eq!(obstacle(&facts("0-1"), INVALID), lengths);
    }
}
