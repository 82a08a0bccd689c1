//! `cpu.max` and `cpu.cfs_quota_us`: how much CPU time a control group may use in each period.

use crate::{Cgroup, CgroupVersion, Reading, Root};

/// The kernel's default period. Source: `default_cfs_period` of `kernel/sched/fair.c`.
const DEFAULT_PERIOD_US: u64 = 100_000;

/// A group's quota, with the file that it was read from.
///
/// Source: `Documentation/scheduler/sched-bwc.rst`, `Documentation/admin-guide/cgroup-v2.rst`.
#[derive(Clone, Debug)]
pub struct CpuQuota {
    pub reading: Reading,
    /// CPU time per period in microseconds; `None` means no limit.
    pub quota_us: Option<u64>,
    /// Length of a period in microseconds.
    pub period_us: u64,
}

impl CpuQuota {
    /// `None` where the group cannot have a quota.
    pub fn read(root: &Root, group: &Cgroup) -> Option<Self> {
        let reading = root.reading(Self::file(group));
        let mut fields = reading.text()?.split_whitespace();
        let quota_us = fields.next()?.parse().ok();
        let period_us = match group.version {
            CgroupVersion::Two => fields.next().and_then(|period| period.parse().ok()),
            CgroupVersion::One => root.reading(group.file("cpu.cfs_period_us")).number(),
        };
        Some(Self { period_us: period_us.unwrap_or(DEFAULT_PERIOD_US), quota_us, reading })
    }

    /// The file that holds quota and period in cgroup v2, and the quota alone in v1.
    pub fn file(group: &Cgroup) -> String {
        match group.version {
            CgroupVersion::Two => group.file("cpu.max"),
            CgroupVersion::One => group.file("cpu.cfs_quota_us"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CpuCgroups;
    use crate::testing::tree;

    #[test]
    fn a_quota_has_two_forms_and_may_be_none() {
        let mounts = "1 1 0:1 / /v1 rw - cgroup cgroup rw,cpu\n2 1 0:2 / /v2 rw - cgroup2 cgroup2 rw";
        let unlimited = None;
        for (max, quota, expected_v2, expected_v1) in [
            ("max 100000", "-1", (unlimited, 100_000), (unlimited, 5_000)),
            ("4000 10000", "4000", (Some(4_000), 10_000), (Some(4_000), 5_000)),
            ("4000", "0", (Some(4_000), 100_000), (Some(0), 5_000)),
        ] {
            let (_folder, root) = tree(&[
                ("/proc/self/mountinfo", mounts),
                ("/proc/7/cgroup", "1:cpu:/a\n0::/a"),
                ("/v1/a/cpu.cfs_quota_us", quota),
                ("/v1/a/cpu.cfs_period_us", "5000\n"),
                ("/v2/a/cpu.max", max),
            ]);
            let groups = CpuCgroups::read(&root, 7);
            let quota = |group: Option<Cgroup>| {
                CpuQuota::read(&root, &group.unwrap()).map(|quota| (quota.quota_us, quota.period_us))
            };
            assert_eq!((quota(groups.v2), quota(groups.v1)), (Some(expected_v2), Some(expected_v1)));
        }
    }
}
