//! Finds the cgroup whose quota kept a thread from its CPU.

use std::collections::HashMap;

use howlate_linux::clock;
use howlate_model::{CpuHolder, HolderKind, MonotonicTime, Occupant, Span, TracedSleep, WaitClock};
use howlate_procfs::{Cgroup, CpuCgroups, CpuQuota, ProcessStat, Root};

/// A runnable thread that waits this long for an idle CPU is throttled: leaving idle takes less.
const MIN_IDLE_WAIT: Span = Span::from_micros(100);
/// How long the group of an ended thread is remembered: its id may be reused later.
const MAX_AGE: Span = Span::from_secs(5);
/// Threads that are remembered.
const MAX_THREADS: usize = 4_096;

/// The limited cgroup of each thread.
pub(super) struct QuotaLookup {
    root: Root,
    remembered: HashMap<u32, (MonotonicTime, String)>,
}

/// Which of a thread's cgroups has a quota.
enum LimitedGroup {
    One(String),
    /// It is not known which of them was throttled.
    Several,
    No,
}

impl QuotaLookup {
    pub(super) fn new(root: Root) -> Self {
        Self { root, remembered: HashMap::new() }
    }

    /// Names the quota where it kept the thread: the kernel reported it when the thread left its CPU, or `since` a time within its wait,
    /// or the CPU was idle.
    pub(super) fn annotate(&mut self, sleep: &mut TracedSleep, since: Option<MonotonicTime>) {
        let since = if sleep.throttled { Some(sleep.waking) } else { since };
        if since.is_none() && !sleep.occupants.iter().any(waits_for_idle_cpu) {
            return;
        }
        let name = match self.limited_group(sleep.tid, sleep.switched_in.unwrap_or_default()) {
            LimitedGroup::One(name) => name,
            LimitedGroup::No if since.is_none() => return,
            LimitedGroup::Several | LimitedGroup::No => String::new(),
        };
        let quota = CpuHolder { holder: HolderKind::Quota, pid: None, name };
        for occupant in sleep.occupants.iter_mut().filter(|occupant| waits_for_idle_cpu(occupant)) {
            occupant.who = quota.clone();
        }
        if let Some(since) = since {
            attribute_since(sleep, since, quota);
        }
    }

    /// A thread may have ended since, and another may have its id: then its last known group is used.
    fn limited_group(&mut self, tid: u32, at: MonotonicTime) -> LimitedGroup {
        let ahead = clock::offset_from_monotonic(WaitClock::Boottime);
        let is_it = ProcessStat::read(&self.root, tid).is_some_and(|stat| stat.existed(at, ahead, true));
        if !is_it {
            let remembered = self.remembered.get(&tid).filter(|(then, _)| at.since(*then) < MAX_AGE);
            return remembered.map_or(LimitedGroup::No, |(_, name)| LimitedGroup::One(name.clone()));
        }
        let group = self.read_groups(tid);
        if let LimitedGroup::One(name) = &group {
            if self.remembered.len() >= MAX_THREADS {
                self.remembered.clear();
            }
            self.remembered.insert(tid, (at, name.clone()));
        }
        group
    }

    fn read_groups(&self, tid: u32) -> LimitedGroup {
        let groups = CpuCgroups::read(&self.root, tid).upwards();
        let has_quota =
            |group: &&Cgroup| CpuQuota::read(&self.root, group).is_some_and(|quota| quota.quota_us.is_some());
        let mut limited = groups.iter().filter(has_quota);
        match (limited.next(), limited.next()) {
            (Some(only), None) => LimitedGroup::One(only.name().to_owned()),
            (None, _) => LimitedGroup::No,
            _ => LimitedGroup::Several,
        }
    }
}

fn waits_for_idle_cpu(occupant: &Occupant) -> bool {
    occupant.who.holder == HolderKind::Idle && occupant.ns >= MIN_IDLE_WAIT
}

/// From then on the quota kept it from its CPU, whatever had that.
fn attribute_since(sleep: &mut TracedSleep, since: MonotonicTime, quota: CpuHolder) {
    sleep.occupants.retain(|occupant| occupant.from.is_some_and(|from| from < since));
    for occupant in &mut sleep.occupants {
        occupant.ns = occupant.ns.min(occupant.from.map_or(Span::ZERO, |from| since.since(from)));
    }
    // The unknown part is at the start.
    sleep.unnamed = sleep.unnamed.min(since.since(sleep.waking));
    let ns = sleep.switched_in.map_or(Span::ZERO, |until| until.since(since));
    sleep.occupants.push(Occupant { who: quota, ns, from: Some(since) });
}

#[cfg(test)]
mod tests {
    use howlate_model::WakeSource;

    use super::*;

    fn at(second: i64) -> MonotonicTime {
        MonotonicTime::from_nanos(second * 1_000_000_000)
    }

    fn attributed_to(quotas: &mut QuotaLookup, second: i64) -> String {
        let by = WakeSource::NotSeen { slack: Span::ZERO, runnable_known: true };
        let woken = TracedSleep::new(7, at(second), by);
        let mut sleep = TracedSleep { throttled: true, switched_in: Some(at(second)), ..woken };
        quotas.annotate(&mut sleep, None);
        sleep.occupants[0].who.name.clone()
    }

    #[test]
    fn the_group_of_an_ended_thread_is_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| howlate_testing::write_below(folder.path(), file, text);
        write("proc/7/stat", "7 (a) R");
        write("proc/7/cgroup", "0::/a.slice\n");
        write("proc/self/mountinfo", "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        write("sys/fs/cgroup/cgroup.controllers", "cpu\n");
        write("sys/fs/cgroup/a.slice/cpu.max", "10000 40000\n");
        let mut quotas = QuotaLookup::new(Root::at(folder.path()));
        assert_eq!(attributed_to(&mut quotas, 1), "/a.slice");
        // Another has its id, which began far in the future for any difference of the two clocks.
        write("proc/7/stat", &format!("7 (b) R{} 1000000000000 1", " 0".repeat(18)));
        write("proc/7/cgroup", "0::/b.slice\n");
        assert_eq!(attributed_to(&mut quotas, 2), "/a.slice");
        std::fs::remove_dir_all(folder.path().join("proc/7")).unwrap();
        assert_eq!(
            (attributed_to(&mut quotas, 2).as_str(), attributed_to(&mut quotas, 9).as_str()),
            ("/a.slice", "")
        );
    }
}
