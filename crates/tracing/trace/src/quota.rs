//! Whether a followed thread's control group used up its quota meanwhile, and which group that is.
//!
//! The kernel counts how often a group was out of quota. No trace event tells that a thread is kept off its CPU by one: it
//! looks as if whoever had the CPU were to blame, so that around such times nobody is.
//!
//! ```text
//! read at   100     200     300     400
//!           |-------|-------|-------|     times without quota: 3, 3, 4, 4: one of them was between 200 and 300
//! awake      |---|                        whoever had the CPU is to blame
//! awake          |------|                 it may have been the quota: nobody is to blame
//! ```
//!
//! Source: `Documentation/scheduler/sched-bwc.rst`, `Documentation/admin-guide/cgroup-v2.rst`.

use std::collections::{HashMap, VecDeque};

use howlate_model::{CpuHolder, HolderKind, MonotonicTime, Span, TracedSleep};
use howlate_procfs::{Cgroup, CpuCgroups, CpuQuota, CpuStat, Root};

/// Times that are remembered; sleeps that are told later than that many readings are of threads that hardly run.
const REMEMBERED: usize = 1024;

/// Fewer threads take no room worth looking for.
const FEW: usize = 1024;

/// A thread that can run, and does not, on a CPU that has nothing else to do, is kept from it: leaving idle takes less.
const KEPT: Span = Span::from_micros(100);

/// A group that controls CPU time.
struct Group {
    cgroup: Cgroup,
    /// How often it was out of quota.
    times: u64,
    has_quota: bool,
}

/// Groups that were out of quota between two readings.
struct UsedUp {
    from: MonotonicTime,
    until: MonotonicTime,
    groups: Vec<usize>,
}

/// The groups of the threads that are followed.
pub(crate) struct Quotas {
    root: Root,
    groups: Vec<Group>,
    /// Those that each thread is in, by their place in the list.
    of_thread: HashMap<u32, Vec<usize>>,
    used_up: VecDeque<UsedUp>,
    read_at: MonotonicTime,
    /// From so many threads on, those that have ended are forgotten.
    many: usize,
}

impl Quotas {
    pub(crate) fn new(root: Root) -> Self {
        let (groups, of_thread, used_up) = (Vec::new(), HashMap::new(), VecDeque::new());
        Self { root, groups, of_thread, used_up, read_at: MonotonicTime::from_nanos(0), many: FEW }
    }

    /// Takes in the group of a thread, and those above it.
    pub(crate) fn follow(&mut self, tid: u32, now: MonotonicTime) {
        let all = CpuCgroups::read(&self.root, tid).upwards();
        let mine = all.into_iter().map(|cgroup| self.place(cgroup)).collect();
        self.forget_those_that_have_ended();
        self.of_thread.insert(tid, mine);
        self.read_at = now;
    }

    /// Nobody tells here that a thread has ended: it is looked for when there are twice as many as there were.
    fn forget_those_that_have_ended(&mut self) {
        if self.of_thread.len() < self.many {
            return;
        }
        let Self { root, of_thread, .. } = self;
        of_thread.retain(|tid, _| root.has(&format!("/proc/{tid}/comm")));
        self.many = FEW.max(2 * self.of_thread.len());
    }

    fn place(&mut self, cgroup: Cgroup) -> usize {
        if let Some(known) = self.groups.iter().position(|group| group.cgroup == cgroup) {
            return known;
        }
        let quota = CpuQuota::read(&self.root, &cgroup);
        let has_quota = quota.is_some_and(|quota| quota.quota_us.is_some());
        self.groups.push(Group { times: self.times(&cgroup), cgroup, has_quota });
        self.groups.len() - 1
    }

    /// Looks which groups were out of quota since the last time.
    pub(crate) fn look(&mut self, now: MonotonicTime) {
        let times: Vec<u64> = self.groups.iter().map(|group| self.times(&group.cgroup)).collect();
        let from = std::mem::replace(&mut self.read_at, now);
        let mut groups = Vec::new();
        for (number, (group, times)) in self.groups.iter_mut().zip(times).enumerate() {
            if std::mem::replace(&mut group.times, times) < times {
                groups.push(number);
            }
        }
        if !groups.is_empty() {
            self.used_up.push_back(UsedUp { from, until: now, groups });
        }
        if self.used_up.len() > REMEMBERED {
            self.used_up.pop_front();
        }
    }

    fn times(&self, cgroup: &Cgroup) -> u64 {
        CpuStat::read(&self.root, cgroup).throttled().unwrap_or(0)
    }

    /// The groups of its thread that were out of quota while it was awake after this sleep.
    fn used_up(&self, one: &TracedSleep) -> Vec<usize> {
        let until = one.asleep_again.unwrap_or(self.read_at);
        let then = self.used_up.iter().filter(|used| used.from <= until && one.waking <= used.until);
        let mine = self.of_thread.get(&one.tid).map_or(&[][..], Vec::as_slice);
        let mut groups: Vec<usize> =
            then.flat_map(|used| &used.groups).filter(|group| mine.contains(group)).copied().collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    /// The path of the group whose quota kept the thread: the only one that has a quota, or that was out of it then. Empty
    /// where that cannot be told.
    fn name(&self, one: &TracedSleep, used_up: &[usize]) -> String {
        let mine = self.of_thread.get(&one.tid).map_or(&[][..], Vec::as_slice);
        let limited: Vec<usize> =
            mine.iter().copied().filter(|group| self.groups[*group].has_quota).collect();
        let only = |groups: &[usize]| if let [only] = groups { self.groups.get(*only) } else { None };
        only(&limited)
            .or_else(|| only(used_up))
            .map_or_else(String::new, |group| group.cgroup.name().to_owned())
    }

    /// Names the group whose quota kept the thread: where the kernel said so when the thread was woken or lost its CPU; and
    /// where the group ran out of time while the thread waited, which shows in a CPU that had nothing else to do.
    pub(crate) fn name_group(&self, one: &mut TracedSleep) {
        let used_up = self.used_up(one);
        let (woken_without, ran_out) = (one.throttled, !used_up.is_empty());
        if !woken_without && !ran_out && !one.lost.iter().any(|lost| lost.throttled) {
            return;
        }
        let quota = quota(self.name(one, &used_up));
        let nobodys = one.occupants.iter().filter(|occupant| occupant.who.holder == HolderKind::Idle);
        let idle = nobodys.map(|occupant| occupant.ns).fold(Span::ZERO, Span::plus);
        for occupant in &mut one.occupants {
            if woken_without || (ran_out && is_kept(&occupant.who, idle)) {
                occupant.who = quota.clone();
            }
        }
        for lost in one.lost.iter_mut().filter(|lost| lost.throttled) {
            lost.to = quota.clone();
        }
    }

    /// Blames nobody for what may have been the quota; and the quota, where the CPU had nothing else to do.
    pub(crate) fn doubt(&self, one: &mut TracedSleep) {
        let used_up = self.used_up(one);
        if used_up.is_empty() {
            return;
        }
        let name = self.name(one, &used_up);
        for occupant in &mut one.occupants {
            occupant.who =
                if is_kept(&occupant.who, occupant.ns) { quota(name.clone()) } else { nobody_knows() };
        }
        for lost in &mut one.lost {
            lost.throttled = is_kept(&lost.to, lost.until.since(lost.from));
            lost.to = if lost.throttled { quota(name.clone()) } else { nobody_knows() };
        }
    }
}

fn is_kept(by: &CpuHolder, ns: Span) -> bool {
    by.holder == HolderKind::Idle && ns >= KEPT
}

const fn quota(name: String) -> CpuHolder {
    CpuHolder { holder: HolderKind::Quota, pid: None, name }
}

const fn nobody_knows() -> CpuHolder {
    CpuHolder { holder: HolderKind::NotSeen, pid: None, name: String::new() }
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

    /// A tree in which thread 7 is in the group `/a/b`, and files of it.
    struct Tree(tempfile::TempDir);

    impl Tree {
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

        fn stopped(&self, group: &str, times: u64) {
            let text = format!("nr_periods 9\nnr_throttled {times}\n");
            self.write(&format!("sys/fs/cgroup/cpu/{group}cpu.stat"), &text);
        }

        fn quota(&self, group: &str, quota: &str) {
            self.write(&format!("sys/fs/cgroup/cpu/{group}cpu.cfs_quota_us"), quota);
        }

        /// Looked at from 100 to 400; `group` was out of quota between 200 and 300.
        fn looked_at(&self, group: &str) -> Quotas {
            let at = MonotonicTime::from_nanos;
            let mut quotas = Quotas::new(Root::at(self.0.path()));
            quotas.follow(7, at(100));
            quotas.look(at(200));
            self.stopped(group, 4);
            quotas.look(at(300));
            quotas.look(at(400));
            quotas
        }
    }

    #[test]
    fn nobody_is_blamed_around_a_time_without_quota() {
        let quotas = Tree::new().looked_at("a/");
        for (waking, again, blamed) in
            [(150, 190, true), (150, 210, false), (250, 350, false), (310, 350, true)]
        {
            let mut one = woken(waking, again);
            quotas.doubt(&mut one);
            assert_eq!(one.occupants[0].who.holder == HolderKind::Thread, blamed, "{waking}");
            one = woken(waking, again);
            one.tid = 8;
            quotas.doubt(&mut one);
            assert_eq!(one.occupants[0].who.holder, HolderKind::Thread, "it is in none of these groups");
        }
    }

    #[test]
    fn who_may_run_and_does_not_on_an_idle_cpu_is_kept_by_the_quota() {
        let quotas = Tree::new().looked_at("a/");
        for (ns, holder, name) in [(100_000, HolderKind::Quota, "/a"), (99_999, HolderKind::NotSeen, "")] {
            let mut one = woken(250, 350);
            one.occupants[0] = Occupant { who: idle(), ns: Span::from_nanos(ns), from: None };
            quotas.doubt(&mut one);
            let who = &one.occupants[0].who;
            assert_eq!((who.holder, who.name.as_str()), (holder, name));
        }
    }

    #[test]
    fn a_group_may_run_out_of_time_while_its_thread_waits() {
        let quotas = Tree::new().looked_at("a/");
        let waited = |waking: i64, ns: u64| {
            let mut one = woken(waking, waking + 40);
            one.occupants.push(Occupant { who: idle(), ns: Span::from_nanos(ns), from: None });
            quotas.name_group(&mut one);
            one.occupants.into_iter().map(|one| (one.who.holder, one.who.name)).collect::<Vec<_>>()
        };
        let (hog, idle) = ((HolderKind::Thread, "hog".to_owned()), (HolderKind::Idle, String::new()));
        assert_eq!(waited(250, 100_000), [hog.clone(), (HolderKind::Quota, "/a".to_owned())]);
        assert_eq!(waited(250, 99_999), [hog.clone(), idle.clone()], "leaving idle takes as long");
        assert_eq!(waited(310, 100_000), [hog, idle], "the group had time");
    }

    fn idle() -> CpuHolder {
        CpuHolder { holder: HolderKind::Idle, pid: None, name: String::new() }
    }

    /// The name of the group where the kernel said that a quota kept the thread.
    fn named(tree: &Tree, group: &str) -> String {
        let mut one = woken(250, 350);
        one.throttled = true;
        tree.looked_at(group).name_group(&mut one);
        assert_eq!(one.occupants[0].who.holder, HolderKind::Quota);
        one.occupants.remove(0).who.name
    }

    #[test]
    fn the_group_is_named_where_there_is_one_only() {
        let tree = Tree::new();
        assert_eq!(named(&tree, "a/b/"), "/a/b", "it was out of quota then");
        tree.quota("", "-1\n");
        tree.quota("a/", "4000\n");
        assert_eq!(named(&tree, "nobody/"), "/a", "no other has a quota");
        tree.quota("a/b/", "4000\n");
        assert_eq!(named(&tree, "nobody/"), "", "one of two");
        tree.stopped("a/", 3);
        assert_eq!(named(&tree, "a/"), "/a", "that one of the two");
        let mut other = woken(250, 350);
        tree.looked_at("a/").name_group(&mut other);
        assert_eq!(other, woken(250, 350), "nothing kept it");
    }
}
