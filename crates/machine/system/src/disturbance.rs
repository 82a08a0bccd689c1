//! What disturbed a measurement from outside: CPU quotas that were used up, SMT siblings that were busy.

use howlate_model::{Caveat, Cpu, CpuSet};
use howlate_procfs::{Cgroup, CpuCgroups, CpuTicks, Root, SELF, Stat};

use crate::group_quotas::QuotaCounters;

/// Siblings that are busy for less than this share of the time, in percent, are not reported.
const LEAST_BUSY_PERCENT: u64 = 5;

/// Counters of quotas and CPUs at one moment, or their increase between two moments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disturbance {
    quotas: Vec<(String, QuotaCounters)>,
    cpus: Vec<(u32, CpuTicks)>,
}

impl Disturbance {
    pub fn read(root: &Root) -> Self {
        let groups = CpuCgroups::read(root, SELF).upwards();
        // A group that cannot have a quota has no counters.
        let quota = |group: &Cgroup| Some((group.name().to_owned(), QuotaCounters::read(root, group)?));
        Self { quotas: groups.iter().filter_map(quota).collect(), cpus: Stat::read(root).cpus() }
    }

    /// The increase since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let quota = |(group, now): &(String, QuotaCounters)| {
            let before = earlier.quotas.iter().find(|(name, _)| name == group).map(|(_, before)| *before);
            (group.clone(), now.since(before.unwrap_or_default()))
        };
        let ticks = |(cpu, now): &(u32, CpuTicks)| {
            let before = earlier.cpus.iter().find(|(number, _)| number == cpu).map(|(_, before)| *before);
            (*cpu, now.since(before.unwrap_or_default()))
        };
        Self { quotas: self.quotas.iter().map(quota).collect(), cpus: self.cpus.iter().map(ticks).collect() }
    }

    /// Adds the increase of another period.
    pub fn add(&mut self, other: &Self) {
        for (group, counters) in &other.quotas {
            match self.quotas.iter_mut().find(|(name, _)| name == group) {
                Some((_, total)) => *total = total.plus(*counters),
                None => self.quotas.push((group.clone(), *counters)),
            }
        }
        for (cpu, ticks) in &other.cpus {
            match self.cpus.iter_mut().find(|(number, _)| number == cpu) {
                Some((_, total)) => *total = total.plus(*ticks),
                None => self.cpus.push((*cpu, *ticks)),
            }
        }
    }

    /// The groups that were throttled because their quota was used up.
    pub fn quotas(&self) -> impl Iterator<Item = Caveat> {
        self.quotas.iter().filter(|(_, counters)| counters.stopped > 0).map(|(group, counters)| {
            Caveat::Throttled {
                group: group.clone(),
                stopped: counters.stopped,
                periods: counters.periods,
                stopped_ns: counters.stopped_time,
            }
        })
    }

    /// Busy CPUs that share a core with one of `measured`.
    pub fn siblings(&self, measured: &CpuSet, cpus: &[Cpu]) -> Vec<Caveat> {
        let mut caveats = Vec::new();
        for cpu in cpus.iter().filter(|cpu| measured.contains(cpu.number)) {
            let siblings = self
                .cpus
                .iter()
                .filter(|(number, _)| *number != cpu.number && cpu.siblings.contains(*number));
            for (sibling, ticks) in siblings {
                let percent = ticks.busy.saturating_mul(100).checked_div(ticks.whole).unwrap_or(0);
                if percent >= LEAST_BUSY_PERCENT {
                    caveats.push(Caveat::SiblingBusy { cpu: cpu.number, sibling: *sibling, percent });
                }
            }
        }
        caveats
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::Span;

    use super::*;

    /// A tree with these counters: 50 µs of throttled time for each period.
    fn tree(stat: &str, periods: u64, stopped: u64) -> tempfile::TempDir {
        let text = format!("nr_periods {periods}\nnr_throttled {stopped}\nthrottled_usec {}\n", stopped * 50);
        howlate_testing::tree(&[
            ("proc/self/cgroup", "0::/pod\n"),
            ("proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("proc/stat", stat),
            ("sys/fs/cgroup/pod/cpu.stat", &text),
        ])
    }

    #[test]
    fn a_quota_that_was_used_up_is_a_caveat_with_the_throttled_time() {
        let (before, after) = (tree("", 10, 1), tree("", 40, 3));
        let read = |tree: &tempfile::TempDir| Disturbance::read(&Root::at(tree.path()));
        let expected = Caveat::Throttled {
            group: "/pod".into(),
            stopped: 2,
            periods: 30,
            stopped_ns: Span::from_micros(100),
        };
        assert_eq!(read(&after).since(&read(&before)).quotas().collect::<Vec<_>>(), [expected]);
        assert_eq!(read(&after).since(&read(&after)).quotas().count(), 0);
    }

    #[test]
    fn a_busy_sibling_is_a_caveat_and_an_idle_one_is_not() {
        let cpu =
            |number, siblings: &str| Cpu { number, siblings: siblings.parse().unwrap(), ..Cpu::default() };
        let cpus = [cpu(0, "0,2"), cpu(1, "1,3"), cpu(2, "0,2"), cpu(3, "1,3")];
        let before = tree("cpu  1 1\ncpu2 0 0 0 0 0 0 0 0\ncpu3 0 0 0 0 0 0 0 0\n", 0, 0);
        let after = tree("cpu  1 1\ncpu2 20 0 5 70 5 0 0 0\ncpu3 1 0 0 99 0 0 0 0\n", 0, 0);
        let read = |tree: &tempfile::TempDir| Disturbance::read(&Root::at(tree.path()));
        let between = read(&after).since(&read(&before));
        let measured: CpuSet = "0,1".parse().unwrap();
        let expected = Caveat::SiblingBusy { cpu: 0, sibling: 2, percent: 25 };
        assert_eq!(between.siblings(&measured, &cpus), [expected]);
        let mut twice = between.clone();
        twice.add(&between);
        assert_eq!(twice.siblings(&measured, &cpus), between.siblings(&measured, &cpus));
    }
}
