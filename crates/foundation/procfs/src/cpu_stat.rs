//! `cpu.stat` and `cgroup.stat.local`: how long a control group was throttled or frozen.

use howlate_model::Span;

use crate::{Cgroup, CgroupVersion, Reading, Root};

/// A group's counters since its creation.
///
/// Source: `Documentation/scheduler/sched-bwc.rst`, `Documentation/admin-guide/cgroup-v2.rst`.
#[derive(Clone, Debug)]
pub struct CpuStat {
    /// The lines about the quota.
    pub reading: Reading,
}

impl CpuStat {
    pub fn read(root: &Root, group: &Cgroup) -> Self {
        Self::in_folder(root, &group.folder())
    }

    /// `folder` is the group's folder.
    pub fn in_folder(root: &Root, folder: &str) -> Self {
        let is_about_quota = |line: &str| line.starts_with("nr_") || line.starts_with("throttled");
        Self { reading: root.reading(format!("{folder}/cpu.stat")).lines(is_about_quota) }
    }

    /// Periods in which the group had something to run. Like all counters here `None` where the kernel does not report it.
    pub fn periods(&self) -> Option<u64> {
        self.number("nr_periods")
    }

    /// Periods in which its quota was used up.
    pub fn throttled(&self) -> Option<u64> {
        self.number("nr_throttled")
    }

    /// Throttled time summed over the CPUs.
    pub fn throttled_time(&self) -> Option<Span> {
        // Nanoseconds in cgroup v1, microseconds in v2.
        let nanos = || self.number("throttled_time");
        let micros = || Some(self.number("throttled_usec")?.saturating_mul(1_000));
        nanos().or_else(micros).map(Span::from_nanos)
    }

    fn number(&self, name: &str) -> Option<u64> {
        let mut lines = self.reading.text()?.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
    }
}

/// How long the group has been frozen since its creation, by itself or by a group above it. `None` where the kernel does not
/// count it: before Linux 6.18, for the root group, and in cgroup v1.
///
/// Source: `frozen_usec` in `Documentation/admin-guide/cgroup-v2.rst`.
pub fn frozen_time(root: &Root, group: &Cgroup) -> Option<Span> {
    if group.version == CgroupVersion::One {
        return None;
    }
    let text = root.read(&group.file("cgroup.stat.local")).ok()?;
    let micros: u64 = text.lines().find_map(|line| line.strip_prefix("frozen_usec ")?.trim().parse().ok())?;
    Some(Span::from_nanos(micros.saturating_mul(1_000)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CpuCgroups;
    use crate::testing::tree;

    fn stat(text: &str) -> CpuStat {
        CpuStat { reading: Reading { path: "/sys/fs/cgroup/cpu.stat".into(), content: Ok(text.into()) } }
    }

    #[test]
    fn each_hierarchy_has_its_own_unit() {
        let counters = |stat: &CpuStat| (stat.periods(), stat.throttled(), stat.throttled_time());
        let v1 = stat("nr_periods 9\nnr_throttled 3\nthrottled_time 70");
        assert_eq!(counters(&v1), (Some(9), Some(3), Some(Span::from_nanos(70))));
        let v2 =
            stat("usage_usec 5\nnr_periods 9\nnr_throttled 3\nthrottled_usec 70\nnr_bursts 0\nburst_usec 0");
        assert_eq!(counters(&v2), (Some(9), Some(3), Some(Span::from_micros(70))));
        // The top group of cgroup v2 has no quota to count.
        assert_eq!(counters(&stat("usage_usec 5\nuser_usec 3\nsystem_usec 2")), (None, None, None));
    }

    #[test]
    fn frozen_time_is_read_where_the_kernel_counts_it() {
        let mounts = "1 1 0:1 / /v1 rw - cgroup cgroup rw,cpu\n2 1 0:2 / /v2 rw - cgroup2 cgroup2 rw";
        let (_folder, root) = tree(&[
            ("/proc/self/mountinfo", mounts),
            ("/proc/7/cgroup", "1:cpu:/a\n0::/a"),
            ("/proc/8/cgroup", "0::/older"),
            ("/v1/a/cgroup.stat.local", "frozen_usec 9\n"),
            ("/v2/a/cgroup.stat.local", "frozen_usec 70\n"),
        ]);
        let groups = CpuCgroups::read(&root, 7);
        assert_eq!(groups.v2.and_then(|group| frozen_time(&root, &group)), Some(Span::from_micros(70)));
        assert_eq!(groups.v1.and_then(|group| frozen_time(&root, &group)), None);
        assert_eq!(CpuCgroups::read(&root, 8).v2.and_then(|group| frozen_time(&root, &group)), None);
    }
}
