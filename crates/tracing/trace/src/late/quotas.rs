//! Whose quota kept a thread from its CPU.

use std::collections::HashMap;

use howlate_model::{CpuHolder, HolderKind, MonotonicTime, Occupant, Span, TracedSleep};
use howlate_procfs::{Cgroup, CpuCgroups, CpuQuota, ProcessStat, Root};

/// A thread that can run, and does not, on a CPU that has nothing else to do, is kept from it: leaving idle takes less.
const KEPT: Span = Span::from_micros(100);
/// What was found of a thread is believed for so long once it is gone: its number may be another's then.
const BELIEVED: Span = Span::from_secs(5);
/// Threads that are remembered.
const REMEMBERED: usize = 4_096;

/// The groups that threads were found in.
pub(super) struct Quotas {
    root: Root,
    known: HashMap<u32, (MonotonicTime, String)>,
}

/// What was found of a thread's groups.
enum Limited {
    /// One of them has a quota.
    One(String),
    /// Several have, so that nobody knows which it was.
    Several,
    No,
}

impl Quotas {
    pub(super) fn new(root: Root) -> Self {
        Self { root, known: HashMap::new() }
    }

    /// Where the quota of its group kept a thread, says so: the kernel did when the thread left its CPU, or the CPU that it waited
    /// for had nothing else to do.
    pub(super) fn name(&mut self, one: &mut TracedSleep) {
        if !one.throttled && !one.occupants.iter().any(kept) {
            return;
        }
        let name = match self.of(one.tid, one.switched_in.unwrap_or_default()) {
            Limited::One(name) => name,
            Limited::No if !one.throttled => return,
            Limited::Several | Limited::No => String::new(),
        };
        charge(one, &CpuHolder { holder: HolderKind::Quota, pid: None, name });
    }

    /// A thread may have ended since: then what was found before stands.
    fn of(&mut self, tid: u32, at: MonotonicTime) -> Limited {
        if ProcessStat::read(&self.root, tid).is_none() {
            let known = self.known.get(&tid).filter(|(then, _)| at.since(*then) < BELIEVED);
            return known.map_or(Limited::No, |(_, name)| Limited::One(name.clone()));
        }
        let found = self.look(tid);
        if let Limited::One(name) = &found {
            if self.known.len() >= REMEMBERED {
                self.known.clear();
            }
            self.known.insert(tid, (at, name.clone()));
        }
        found
    }

    fn look(&self, tid: u32) -> Limited {
        let groups = CpuCgroups::read(&self.root, tid).upwards();
        let has_quota =
            |group: &&Cgroup| CpuQuota::read(&self.root, group).is_some_and(|quota| quota.quota_us.is_some());
        let mut limited = groups.iter().filter(has_quota);
        match (limited.next(), limited.next()) {
            (Some(only), None) => Limited::One(only.name().to_owned()),
            (None, _) => Limited::No,
            _ => Limited::Several,
        }
    }
}

fn kept(occupant: &Occupant) -> bool {
    occupant.who.holder == HolderKind::Idle && occupant.ns >= KEPT
}

fn charge(one: &mut TracedSleep, quota: &CpuHolder) {
    if one.throttled {
        let ns = one.switched_in.map_or(Span::ZERO, |until| until.since(one.waking));
        one.occupants = vec![Occupant { who: quota.clone(), ns, from: Some(one.waking) }];
        one.unnamed = Span::ZERO;
        return;
    }
    for occupant in one.occupants.iter_mut().filter(|occupant| kept(occupant)) {
        occupant.who = quota.clone();
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::WakeSource;

    use super::*;

    fn at(second: i64) -> MonotonicTime {
        MonotonicTime::from_nanos(second * 1_000_000_000)
    }

    fn charged(quotas: &mut Quotas, second: i64) -> String {
        let by = WakeSource::NotSeen { slack: Span::ZERO, runnable_known: true };
        let woken = TracedSleep::new(7, at(second), by);
        let mut one = TracedSleep { throttled: true, switched_in: Some(at(second)), ..woken };
        quotas.name(&mut one);
        one.occupants[0].who.name.clone()
    }

    #[test]
    fn a_thread_that_has_ended_was_kept_by_the_group_that_it_was_in() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| howlate_testing::write_below(folder.path(), file, text);
        write("proc/7/stat", "7 (a) R");
        write("proc/7/cgroup", "0::/a.slice\n");
        write("proc/self/mountinfo", "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        write("sys/fs/cgroup/cgroup.controllers", "cpu\n");
        write("sys/fs/cgroup/a.slice/cpu.max", "10000 40000\n");
        let mut quotas = Quotas::new(Root::at(folder.path()));
        assert_eq!(charged(&mut quotas, 1), "/a.slice");
        std::fs::remove_dir_all(folder.path().join("proc/7")).unwrap();
        assert_eq!((charged(&mut quotas, 2).as_str(), charged(&mut quotas, 9).as_str()), ("/a.slice", ""));
    }
}
