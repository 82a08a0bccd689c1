//! The CPU quotas of a process's control groups, and how often they were used up during a measurement.

use howlate_model::{Caveat, Span};
use howlate_procfs::{Cgroup, CpuCgroups, CpuQuota, CpuStat, Root};

/// The control groups of a process that have a quota, with their counters at the beginning.
#[derive(Debug)]
pub struct GroupQuotas {
    root: Root,
    process: u32,
    groups: Vec<(Cgroup, QuotaCounters)>,
}

/// The throttling counters of a group's `cpu.stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QuotaCounters {
    pub(crate) periods: u64,
    /// Periods in which the quota was used up.
    pub(crate) stopped: u64,
    pub(crate) stopped_time: Span,
}

impl QuotaCounters {
    pub(crate) fn read(root: &Root, group: &Cgroup) -> Option<Self> {
        let stat = CpuStat::read(root, group);
        let (periods, stopped) = (stat.periods()?, stat.throttled()?);
        Some(Self { periods, stopped, stopped_time: stat.throttled_time().unwrap_or_default() })
    }

    pub(crate) const fn since(self, earlier: Self) -> Self {
        Self {
            periods: self.periods.saturating_sub(earlier.periods),
            stopped: self.stopped.saturating_sub(earlier.stopped),
            stopped_time: self.stopped_time.minus(earlier.stopped_time),
        }
    }

    pub(crate) const fn plus(self, other: Self) -> Self {
        Self {
            periods: self.periods + other.periods,
            stopped: self.stopped + other.stopped,
            stopped_time: self.stopped_time.plus(other.stopped_time),
        }
    }
}

impl GroupQuotas {
    /// Reads the counters of the process `process`.
    pub fn begin(root: Root, process: u32) -> Self {
        let has_quota =
            |group: &Cgroup| CpuQuota::read(&root, group).is_some_and(|quota| quota.quota_us.is_some());
        let groups = CpuCgroups::read(&root, process).upwards().into_iter().filter(has_quota);
        let with_counters =
            |group: Cgroup| QuotaCounters::read(&root, &group).map(|counters| (group, counters));
        Self { groups: groups.filter_map(with_counters).collect(), process, root }
    }

    /// The quotas that were used up since [`begin`](Self::begin).
    pub fn used_up(&self) -> Vec<Caveat> {
        let used_up = |(group, before): &(Cgroup, QuotaCounters)| {
            let increase = QuotaCounters::read(&self.root, group)?.since(*before);
            (increase.stopped > 0).then(|| Caveat::QuotaUsedUp {
                process: self.process,
                group: group.name().to_owned(),
                stopped: increase.stopped,
                periods: increase.periods,
                stopped_ns: increase.stopped_time,
            })
        };
        self.groups.iter().filter_map(used_up).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_used_up_since_the_beginning_is_a_caveat() {
        let tree = howlate_testing::tree(&[
            ("proc/7/cgroup", "0::/pod/app\n"),
            ("proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("proc/7/mountinfo", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("sys/fs/cgroup/pod/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/pod/app/cpu.max", "20000 100000\n"),
            ("sys/fs/cgroup/pod/app/cpu.stat", "nr_periods 10\nnr_throttled 1\nthrottled_usec 50\n"),
        ]);
        let quotas = GroupQuotas::begin(Root::at(tree.path()), 7);
        assert_eq!(quotas.used_up(), [], "it was used up before only");
        let now = "nr_periods 40\nnr_throttled 3\nthrottled_usec 150\n";
        howlate_testing::write_below(tree.path(), "sys/fs/cgroup/pod/app/cpu.stat", now);
        let expected = Caveat::QuotaUsedUp {
            process: 7,
            group: "/pod/app".into(),
            stopped: 2,
            periods: 30,
            stopped_ns: Span::from_micros(100),
        };
        assert_eq!(quotas.used_up(), [expected]);
    }
}
