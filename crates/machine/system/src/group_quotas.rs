//! The CPU quotas of a process's control groups, and how often they were used up while it was watched.

use howlate_model::{Caveat, Span};
use howlate_procfs::{Cgroup, CpuCgroups, CpuQuota, CpuStat, Root};

/// The groups of a process that have a quota, from one moment on.
#[derive(Debug)]
pub struct GroupQuotas {
    root: Root,
    process: u32,
    groups: Vec<(Cgroup, Counters)>,
}

/// What a group's `cpu.stat` counts.
#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    periods: u64,
    stopped: u64,
    stood_still: Span,
}

impl Counters {
    fn read(root: &Root, group: &Cgroup) -> Option<Self> {
        let stat = CpuStat::read(root, group);
        let (periods, stopped) = (stat.periods()?, stat.throttled()?);
        Some(Self { periods, stopped, stood_still: stat.throttled_time().unwrap_or_default() })
    }
}

impl GroupQuotas {
    /// Those of the process `process`, from now on.
    pub fn begin(root: Root, process: u32) -> Self {
        let has_quota =
            |group: &Cgroup| CpuQuota::read(&root, group).is_some_and(|quota| quota.quota_us.is_some());
        let groups = CpuCgroups::read(&root, process).upwards().into_iter().filter(has_quota);
        let counted = |group: Cgroup| Counters::read(&root, &group).map(|counters| (group, counters));
        Self { groups: groups.filter_map(counted).collect(), process, root }
    }

    /// Those that were used up since.
    pub fn used_up(&self) -> Vec<Caveat> {
        let used_up = |(group, then): &(Cgroup, Counters)| {
            let now = Counters::read(&self.root, group)?;
            let stopped = now.stopped.saturating_sub(then.stopped);
            (stopped > 0).then(|| Caveat::QuotaUsedUp {
                process: self.process,
                group: group.name().to_owned(),
                stopped,
                periods: now.periods.saturating_sub(then.periods),
                stopped_ns: now.stood_still.minus(then.stood_still),
            })
        };
        self.groups.iter().filter_map(used_up).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_up_while_it_was_watched_is_told_and_nothing_else() {
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
        let wanted = Caveat::QuotaUsedUp {
            process: 7,
            group: "/pod/app".into(),
            stopped: 2,
            periods: 30,
            stopped_ns: Span::from_micros(100),
        };
        assert_eq!(quotas.used_up(), [wanted]);
    }
}
