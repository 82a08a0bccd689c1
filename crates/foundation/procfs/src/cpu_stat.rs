//! `cpu.stat`: how often a control group stood still because its quota was used up.

use howlate_model::Span;

use crate::{Cgroup, Reading, Root};

/// A group's counters since it was made.
///
/// Source: `Documentation/scheduler/sched-bwc.rst`, `Documentation/admin-guide/cgroup-v2.rst`.
#[derive(Clone, Debug)]
pub struct CpuStat {
    /// The lines about its quota.
    pub reading: Reading,
}

impl CpuStat {
    /// Of a group.
    pub fn read(root: &Root, group: &Cgroup) -> Self {
        Self::in_folder(root, &group.folder())
    }

    /// Of the group with this folder.
    pub fn in_folder(root: &Root, folder: &str) -> Self {
        let about_quota = |line: &str| line.starts_with("nr_") || line.starts_with("throttled");
        Self { reading: root.reading(format!("{folder}/cpu.stat")).lines(about_quota) }
    }

    /// Periods in which the group had something to run; `None` where that is not counted, as everywhere here.
    pub fn periods(&self) -> Option<u64> {
        self.number("nr_periods")
    }

    /// Periods in which its quota was used up.
    pub fn throttled(&self) -> Option<u64> {
        self.number("nr_throttled")
    }

    /// How long its CPUs stood still, added up: nanoseconds in cgroup v1, microseconds in v2.
    pub fn throttled_time(&self) -> Option<Span> {
        let nanos = || self.number("throttled_time");
        let micros = || Some(self.number("throttled_usec")?.saturating_mul(1_000));
        nanos().or_else(micros).map(Span::from_nanos)
    }

    fn number(&self, name: &str) -> Option<u64> {
        let mut lines = self.reading.text()?.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(text: &str) -> CpuStat {
        CpuStat { reading: Reading { path: "/sys/fs/cgroup/cpu.stat".into(), content: Ok(text.into()) } }
    }

    #[test]
    fn each_hierarchy_has_a_unit_of_its_own() {
        let counted = |stat: &CpuStat| (stat.periods(), stat.throttled(), stat.throttled_time());
        let v1 = stat("nr_periods 9\nnr_throttled 3\nthrottled_time 70");
        assert_eq!(counted(&v1), (Some(9), Some(3), Some(Span::from_nanos(70))));
        let v2 =
            stat("usage_usec 5\nnr_periods 9\nnr_throttled 3\nthrottled_usec 70\nnr_bursts 0\nburst_usec 0");
        assert_eq!(counted(&v2), (Some(9), Some(3), Some(Span::from_micros(70))));
        // The top group of cgroup v2 has no quota to count.
        assert_eq!(counted(&stat("usage_usec 5\nuser_usec 3\nsystem_usec 2")), (None, None, None));
    }
}
