//! What disturbed a measurement from outside: a quota that was used up, a core's other half that was busy.

use howlate_model::{Caveat, Cpu, CpuSet, Span};
use howlate_procfs::{Cgroup, CpuCgroups, CpuStat, CpuTicks, Root, SELF, Stat};

/// A core's other half that is busier than this, in percent, takes a noticeable share of it.
const FELT: u64 = 5;

/// Counters at one moment, or how far they went between two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disturbance {
    quotas: Vec<Quota>,
    cpus: Vec<(u32, CpuTicks)>,
}

/// A control group with a quota, and how often it stood still.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Quota {
    group: String,
    periods: u64,
    stopped: u64,
    stopped_ns: u64,
}

impl Disturbance {
    /// The counters as they stand.
    pub fn read(root: &Root) -> Self {
        let groups = CpuCgroups::read(root, SELF).upwards();
        Self {
            quotas: groups.iter().filter_map(|group| quota(root, group)).collect(),
            cpus: Stat::read(root).cpus(),
        }
    }

    /// How far the counters went since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let quota = |now: &Quota| {
            let then = earlier.quotas.iter().find(|one| one.group == now.group).cloned().unwrap_or_default();
            Quota {
                group: now.group.clone(),
                periods: now.periods.saturating_sub(then.periods),
                stopped: now.stopped.saturating_sub(then.stopped),
                stopped_ns: now.stopped_ns.saturating_sub(then.stopped_ns),
            }
        };
        let ticks = |(cpu, now): &(u32, CpuTicks)| {
            let then = earlier.cpus.iter().find(|(one, _)| one == cpu).map(|(_, then)| *then);
            (*cpu, now.since(then.unwrap_or_default()))
        };
        Self { quotas: self.quotas.iter().map(quota).collect(), cpus: self.cpus.iter().map(ticks).collect() }
    }

    /// Adds what happened in another stretch of time.
    pub fn add(&mut self, other: &Self) {
        for quota in &other.quotas {
            match self.quotas.iter_mut().find(|known| known.group == quota.group) {
                Some(known) => {
                    known.periods += quota.periods;
                    known.stopped += quota.stopped;
                    known.stopped_ns += quota.stopped_ns;
                }
                None => self.quotas.push(quota.clone()),
            }
        }
        for (cpu, ticks) in &other.cpus {
            match self.cpus.iter_mut().find(|(known, _)| known == cpu) {
                Some((_, known)) => *known = known.plus(*ticks),
                None => self.cpus.push((*cpu, *ticks)),
            }
        }
    }

    /// The groups that stood still because their quota was used up.
    pub fn quotas(&self) -> impl Iterator<Item = Caveat> {
        self.quotas.iter().filter(|quota| quota.stopped > 0).map(|quota| Caveat::Throttled {
            group: quota.group.clone(),
            stopped: quota.stopped,
            periods: quota.periods,
            stopped_ns: Span::from_nanos(quota.stopped_ns),
        })
    }

    /// Busy CPUs that share a core with one of `measured`.
    pub fn siblings(&self, measured: &CpuSet, cpus: &[Cpu]) -> Vec<Caveat> {
        let mut caveats = Vec::new();
        for cpu in cpus.iter().filter(|cpu| measured.contains(cpu.number)) {
            let others =
                self.cpus.iter().filter(|(one, _)| *one != cpu.number && cpu.siblings.contains(*one));
            for (sibling, ticks) in others {
                let percent = ticks.busy.saturating_mul(100).checked_div(ticks.whole).unwrap_or(0);
                if percent >= FELT {
                    caveats.push(Caveat::SiblingBusy { cpu: cpu.number, sibling: *sibling, percent });
                }
            }
        }
        caveats
    }
}

/// The counters of a group; `None` where it cannot have a quota.
fn quota(root: &Root, group: &Cgroup) -> Option<Quota> {
    let stat = CpuStat::read(root, group);
    Some(Quota {
        group: group.name().to_owned(),
        periods: stat.periods()?,
        stopped: stat.throttled()?,
        stopped_ns: stat.throttled_time().unwrap_or_default().as_nanos(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree with these counters.
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
    fn a_quota_that_was_used_up_is_a_caveat_with_its_price() {
        let (before, after) = (tree("", 10, 1), tree("", 40, 3));
        let read = |tree: &tempfile::TempDir| Disturbance::read(&Root::at(tree.path()));
        let wanted = Caveat::Throttled {
            group: "/pod".into(),
            stopped: 2,
            periods: 30,
            stopped_ns: Span::from_micros(100),
        };
        assert_eq!(read(&after).since(&read(&before)).quotas().collect::<Vec<_>>(), [wanted]);
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
        let wanted = Caveat::SiblingBusy { cpu: 0, sibling: 2, percent: 25 };
        assert_eq!(between.siblings(&measured, &cpus), [wanted]);
        let mut twice = between.clone();
        twice.add(&between);
        assert_eq!(twice.siblings(&measured, &cpus), between.siblings(&measured, &cpus));
    }
}
