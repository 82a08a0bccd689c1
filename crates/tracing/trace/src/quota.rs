//! Detects whether the cgroup of a followed thread was throttled, and which cgroup it was.
//!
//! The kernel counts how often a cgroup was throttled. No trace event reports that a thread waits for quota: the occupant of the CPU
//! would seem to be the cause, so that around such times none is named.
//!
//! ```text
//! read at   100     200     300     400
//!           |-------|-------|-------|     throttled: 3, 3, 4, 4 times: once between 200 and 300
//! awake      |---|                        the occupant is the cause
//! awake          |------|                 it may have been the quota: no cause is named
//! ```
//!
//! Source: `Documentation/scheduler/sched-bwc.rst`, `Documentation/admin-guide/cgroup-v2.rst`.

use std::collections::{HashMap, VecDeque};

use howlate_model::{CpuHolder, HolderKind, MonotonicTime, Span, TracedSleep};
use howlate_procfs::{Cgroup, CpuCgroups, CpuQuota, CpuStat, Root};

use crate::occupant::nameless;

/// Periods that are remembered. A sleep that is reported later than so many readings belongs to a thread that hardly runs.
const MAX_PERIODS: usize = 1024;

/// Below this many threads, ended ones are not looked for.
const MIN_CLEANUP: usize = 1024;

/// A runnable thread that waits this long for an idle CPU is throttled: leaving idle takes less.
const MIN_IDLE_WAIT: Span = Span::from_micros(100);

/// A cgroup with the CPU controller.
struct TrackedGroup {
    cgroup: Cgroup,
    /// How often it was throttled.
    throttle_count: u64,
    has_quota: bool,
}

/// Groups that were throttled between two readings.
struct ThrottledPeriod {
    from: MonotonicTime,
    until: MonotonicTime,
    groups: Vec<usize>,
}

/// The cgroups of the followed threads.
pub(crate) struct QuotaTracker {
    root: Root,
    groups: Vec<TrackedGroup>,
    /// The groups of each thread, as indices into `groups`.
    groups_of_thread: HashMap<u32, Vec<usize>>,
    throttled_periods: VecDeque<ThrottledPeriod>,
    read_at: MonotonicTime,
    /// At this number of threads, ended ones are removed.
    cleanup_at: usize,
}

impl QuotaTracker {
    pub(crate) fn new(root: Root) -> Self {
        let (groups, groups_of_thread, throttled_periods) = (Vec::new(), HashMap::new(), VecDeque::new());
        Self {
            root,
            groups,
            groups_of_thread,
            throttled_periods,
            read_at: MonotonicTime::from_nanos(0),
            cleanup_at: MIN_CLEANUP,
        }
    }

    /// Adds the cgroup of a thread, and its ancestors.
    pub(crate) fn follow(&mut self, tid: u32, now: MonotonicTime) {
        let all = CpuCgroups::read(&self.root, tid).upwards();
        let own_groups = all.into_iter().map(|cgroup| self.index_of(cgroup)).collect();
        self.forget_ended_threads();
        self.groups_of_thread.insert(tid, own_groups);
        self.read_at = now;
    }

    /// The end of a thread is not reported here: ended ones are looked for when the number of threads has doubled.
    fn forget_ended_threads(&mut self) {
        if self.groups_of_thread.len() < self.cleanup_at {
            return;
        }
        let Self { root, groups_of_thread, .. } = self;
        groups_of_thread.retain(|tid, _| root.has(&format!("/proc/{tid}/comm")));
        self.cleanup_at = MIN_CLEANUP.max(2 * self.groups_of_thread.len());
    }

    fn index_of(&mut self, cgroup: Cgroup) -> usize {
        if let Some(index) = self.groups.iter().position(|group| group.cgroup == cgroup) {
            return index;
        }
        let quota = CpuQuota::read(&self.root, &cgroup);
        let has_quota = quota.is_some_and(|quota| quota.quota_us.is_some());
        self.groups.push(TrackedGroup { throttle_count: self.throttle_count(&cgroup), cgroup, has_quota });
        self.groups.len() - 1
    }

    /// Reads which groups were throttled since the last reading.
    pub(crate) fn read(&mut self, now: MonotonicTime) {
        let counts: Vec<u64> = self.groups.iter().map(|group| self.throttle_count(&group.cgroup)).collect();
        let from = std::mem::replace(&mut self.read_at, now);
        let mut groups = Vec::new();
        for (number, (group, count)) in self.groups.iter_mut().zip(counts).enumerate() {
            if std::mem::replace(&mut group.throttle_count, count) < count {
                groups.push(number);
            }
        }
        if !groups.is_empty() {
            self.throttled_periods.push_back(ThrottledPeriod { from, until: now, groups });
        }
        if self.throttled_periods.len() > MAX_PERIODS {
            self.throttled_periods.pop_front();
        }
    }

    fn throttle_count(&self, cgroup: &Cgroup) -> u64 {
        CpuStat::read(&self.root, cgroup).throttled().unwrap_or(0)
    }

    /// The groups of a thread that were throttled while it was awake after this sleep.
    fn throttled_groups(&self, sleep: &TracedSleep) -> Vec<usize> {
        let until = sleep.asleep_again.unwrap_or(self.read_at);
        let periods = self
            .throttled_periods
            .iter()
            .filter(|period| period.from <= until && sleep.waking <= period.until);
        let own_groups = self.groups_of_thread.get(&sleep.tid).map_or(&[][..], Vec::as_slice);
        let mut groups: Vec<usize> = periods
            .flat_map(|period| &period.groups)
            .filter(|group| own_groups.contains(group))
            .copied()
            .collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    /// Path of the group whose quota kept the thread: the only one with a quota, or the only one that was throttled then. Empty if that is
    /// ambiguous.
    fn name(&self, sleep: &TracedSleep, throttled: &[usize]) -> String {
        let own_groups = self.groups_of_thread.get(&sleep.tid).map_or(&[][..], Vec::as_slice);
        let limited: Vec<usize> =
            own_groups.iter().copied().filter(|group| self.groups[*group].has_quota).collect();
        let only = |groups: &[usize]| if let [only] = groups { self.groups.get(*only) } else { None };
        only(&limited)
            .or_else(|| only(throttled))
            .map_or_else(String::new, |group| group.cgroup.name().to_owned())
    }

    /// Names the group whose quota kept the thread: where the kernel reported it when the thread was woken or lost its CPU, and where
    /// the group was throttled while the thread waited for an idle CPU.
    pub(crate) fn annotate(&self, sleep: &mut TracedSleep) {
        let throttled = self.throttled_groups(sleep);
        let (woken_without, ran_out) = (sleep.throttled, !throttled.is_empty());
        if !woken_without && !ran_out && !sleep.lost.iter().any(|lost| lost.throttled) {
            return;
        }
        let quota = quota_of(self.name(sleep, &throttled));
        let idle_occupants =
            sleep.occupants.iter().filter(|occupant| occupant.who.holder == HolderKind::Idle);
        let idle = idle_occupants.map(|occupant| occupant.ns).fold(Span::ZERO, Span::plus);
        for occupant in &mut sleep.occupants {
            if woken_without || (ran_out && waits_for_idle_cpu(&occupant.who, idle)) {
                occupant.who = quota.clone();
            }
        }
        for lost in sleep.lost.iter_mut().filter(|lost| lost.throttled) {
            lost.to = quota.clone();
        }
    }

    /// Names no cause for what may have been the quota, and the quota where the CPU was idle.
    pub(crate) fn correct(&self, sleep: &mut TracedSleep) {
        let throttled = self.throttled_groups(sleep);
        if throttled.is_empty() {
            return;
        }
        let name = self.name(sleep, &throttled);
        for occupant in &mut sleep.occupants {
            occupant.who = if waits_for_idle_cpu(&occupant.who, occupant.ns) {
                quota_of(name.clone())
            } else {
                nameless(HolderKind::NotSeen)
            };
        }
        for lost in &mut sleep.lost {
            lost.throttled = waits_for_idle_cpu(&lost.to, lost.until.since(lost.from));
            lost.to = if lost.throttled { quota_of(name.clone()) } else { nameless(HolderKind::NotSeen) };
        }
    }
}

fn waits_for_idle_cpu(by: &CpuHolder, ns: Span) -> bool {
    by.holder == HolderKind::Idle && ns >= MIN_IDLE_WAIT
}

const fn quota_of(name: String) -> CpuHolder {
    CpuHolder { holder: HolderKind::Quota, pid: None, name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::{Occupant, Span, WakeSource};

    const MOUNTINFO: &str = "34 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n";

    fn woken(waking: i64, again: i64) -> TracedSleep {
        let at = MonotonicTime::from_nanos;
        let who = CpuHolder { holder: HolderKind::Thread, pid: Some(9), name: "hog".into() };
        TracedSleep {
            occupants: vec![Occupant { who: who.clone(), ns: Span::from_nanos(5), from: None }],
            switched_in: Some(at(waking + 5)),
            asleep_again: Some(at(again)),
            ..TracedSleep::new(7, at(waking), WakeSource::Other(who))
        }
    }

    /// A tree in which thread 7 is in group `/a/b`.
    struct TestTree(tempfile::TempDir);

    impl TestTree {
        fn new() -> Self {
            let tree = Self(tempfile::tempdir().unwrap());
            tree.write("proc/7/cgroup", "1:cpu:/a/b\n");
            tree.write("proc/self/mountinfo", MOUNTINFO);
            for group in ["", "a/", "a/b/"] {
                tree.stopped(group, 3);
            }
            tree
        }

        fn write(&self, file: &str, text: &str) {
            howlate_testing::write_below(self.0.path(), file, text);
        }

        fn stopped(&self, group: &str, throttle_count: u64) {
            let text = format!("nr_periods 9\nnr_throttled {throttle_count}\n");
            self.write(&format!("sys/fs/cgroup/cpu/{group}cpu.stat"), &text);
        }

        fn quota_of(&self, group: &str, quota_of: &str) {
            self.write(&format!("sys/fs/cgroup/cpu/{group}cpu.cfs_quota_us"), quota_of);
        }

        /// Read from 100 to 400; `group` was throttled between 200 and 300.
        fn read_around(&self, group: &str) -> QuotaTracker {
            let at = MonotonicTime::from_nanos;
            let mut quotas = QuotaTracker::new(Root::at(self.0.path()));
            quotas.follow(7, at(100));
            quotas.read(at(200));
            self.stopped(group, 4);
            quotas.read(at(300));
            quotas.read(at(400));
            quotas
        }
    }

    #[test]
    fn no_cause_is_named_around_a_throttled_time() {
        let quotas = TestTree::new().read_around("a/");
        for (waking, again, is_named) in
            [(150, 190, true), (150, 210, false), (250, 350, false), (310, 350, true)]
        {
            let mut sleep = woken(waking, again);
            quotas.correct(&mut sleep);
            assert_eq!(sleep.occupants[0].who.holder == HolderKind::Thread, is_named, "{waking}");
            sleep = woken(waking, again);
            sleep.tid = 8;
            quotas.correct(&mut sleep);
            assert_eq!(sleep.occupants[0].who.holder, HolderKind::Thread, "it is in none of these groups");
        }
    }

    #[test]
    fn a_runnable_thread_on_an_idle_cpu_is_throttled() {
        let quotas = TestTree::new().read_around("a/");
        for (ns, holder, name) in [(100_000, HolderKind::Quota, "/a"), (99_999, HolderKind::NotSeen, "")] {
            let mut sleep = woken(250, 350);
            sleep.occupants[0] = Occupant { who: idle(), ns: Span::from_nanos(ns), from: None };
            quotas.correct(&mut sleep);
            let who = &sleep.occupants[0].who;
            assert_eq!((who.holder, who.name.as_str()), (holder, name));
        }
    }

    #[test]
    fn a_group_may_run_out_of_time_while_its_thread_waits() {
        let quotas = TestTree::new().read_around("a/");
        let waited = |waking: i64, ns: u64| {
            let mut sleep = woken(waking, waking + 40);
            sleep.occupants.push(Occupant { who: idle(), ns: Span::from_nanos(ns), from: None });
            quotas.annotate(&mut sleep);
            sleep
                .occupants
                .into_iter()
                .map(|occupant| (occupant.who.holder, occupant.who.name))
                .collect::<Vec<_>>()
        };
        let (hog, idle) = ((HolderKind::Thread, "hog".to_owned()), (HolderKind::Idle, String::new()));
        assert_eq!(waited(250, 100_000), [hog.clone(), (HolderKind::Quota, "/a".to_owned())]);
        assert_eq!(waited(250, 99_999), [hog.clone(), idle.clone()], "leaving idle takes as long");
        assert_eq!(waited(310, 100_000), [hog, idle], "the group had time");
    }

    fn idle() -> CpuHolder {
        CpuHolder { holder: HolderKind::Idle, pid: None, name: String::new() }
    }

    /// Name of the group where the kernel reported that a quota kept the thread.
    fn named(tree: &TestTree, group: &str) -> String {
        let mut sleep = woken(250, 350);
        sleep.throttled = true;
        tree.read_around(group).annotate(&mut sleep);
        assert_eq!(sleep.occupants[0].who.holder, HolderKind::Quota);
        sleep.occupants.remove(0).who.name
    }

    #[test]
    fn the_group_is_named_where_there_is_one_only() {
        let tree = TestTree::new();
        assert_eq!(named(&tree, "a/b/"), "/a/b", "it was out of quota then");
        tree.quota_of("", "-1\n");
        tree.quota_of("a/", "4000\n");
        assert_eq!(named(&tree, "nobody/"), "/a", "no other has a quota");
        tree.quota_of("a/b/", "4000\n");
        assert_eq!(named(&tree, "nobody/"), "", "one of two");
        tree.stopped("a/", 3);
        assert_eq!(named(&tree, "a/"), "/a", "that one of the two");
        let mut other = woken(250, 350);
        tree.read_around("a/").annotate(&mut other);
        assert_eq!(other, woken(250, 350), "nothing kept it");
    }
}
