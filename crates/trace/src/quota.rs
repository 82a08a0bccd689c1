//! Whether a followed thread's control group used up its quota meanwhile, and which group that is.
//!
//! The kernel counts how often a group was out of quota. No trace event tells that a thread is kept off its CPU by one: it
//! looks as if whoever had the CPU were to blame, so that around such times nobody is.
//!
//! Source: `Documentation/scheduler/sched-bwc.rst`, `Documentation/admin-guide/cgroup-v2.rst`.

use std::collections::{HashMap, VecDeque};

use howlate_model::{Holder, MonotonicTime, Span, Traced, Who};
use howlate_procfs::Root;

/// Times that are remembered; sleeps that are told later than that many readings are of threads that hardly run.
const REMEMBERED: usize = 1024;

/// A thread that can run, and does not, on a CPU that has nothing else to do, is kept from it: leaving idle takes less.
const KEPT: Span = Span::from_micros(100);

/// A group that controls CPU time.
struct Group {
    /// As `/proc/PID/cgroup` has it.
    path: String,
    /// The file that tells how often it was out of quota.
    stat: String,
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
}

impl Quotas {
    pub(crate) fn new(root: Root) -> Self {
        let (groups, of_thread, used_up) = (Vec::new(), HashMap::new(), VecDeque::new());
        Self { root, groups, of_thread, used_up, read_at: MonotonicTime::from_nanos(0) }
    }

    /// Takes in the group of a thread, and those above it.
    pub(crate) fn follow(&mut self, tid: u32, now: MonotonicTime) {
        let listed = self.root.read(&format!("/proc/{tid}/cgroup")).unwrap_or_default();
        let mounts = self.root.read("/proc/self/mounts").unwrap_or_default();
        let all = listed.lines().filter_map(|line| group(line, &mounts)).flat_map(upwards);
        let mine = all.map(|(folder, path)| self.place(&folder, path)).collect();
        self.of_thread.insert(tid, mine);
        self.read_at = now;
    }

    fn place(&mut self, folder: &str, path: String) -> usize {
        let stat = format!("{folder}/cpu.stat");
        if let Some(known) = self.groups.iter().position(|group| group.stat == stat) {
            return known;
        }
        let (times, has_quota) = (self.times(&stat), self.has_quota(folder));
        self.groups.push(Group { path, stat, times, has_quota });
        self.groups.len() - 1
    }

    /// `4000 10000` of v2, `4000` of v1; `max 10000` and `-1` are none.
    fn has_quota(&self, folder: &str) -> bool {
        let read = |file: &str| self.root.read(&format!("{folder}/{file}"));
        let text = read("cpu.max").or_else(|_| read("cpu.cfs_quota_us")).unwrap_or_default();
        text.split_whitespace().next().is_some_and(|quota| quota.parse::<u64>().is_ok())
    }

    /// Looks which groups were out of quota since the last time.
    pub(crate) fn look(&mut self, now: MonotonicTime) {
        let times: Vec<u64> = self.groups.iter().map(|group| self.times(&group.stat)).collect();
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

    fn times(&self, file: &str) -> u64 {
        let stat = self.root.read(file).unwrap_or_default();
        let times = stat.lines().find_map(|line| line.strip_prefix("nr_throttled "));
        times.and_then(|times| times.trim().parse().ok()).unwrap_or(0)
    }

    /// The groups of its thread that were out of quota while it was awake after this sleep.
    fn used_up(&self, one: &Traced) -> Vec<usize> {
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
    fn name(&self, one: &Traced, used_up: &[usize]) -> String {
        let mine = self.of_thread.get(&one.tid).map_or(&[][..], Vec::as_slice);
        let limited: Vec<usize> =
            mine.iter().copied().filter(|group| self.groups[*group].has_quota).collect();
        let only = |groups: &[usize]| if let [only] = groups { self.groups.get(*only) } else { None };
        only(&limited).or_else(|| only(used_up)).map_or_else(String::new, |group| group.path.clone())
    }

    /// Names the group whose quota kept the thread: where the kernel said so when the thread was woken or lost its CPU; and
    /// where the group ran out of time while the thread waited, which shows in a CPU that had nothing else to do.
    pub(crate) fn name_group(&self, one: &mut Traced) {
        let used_up = self.used_up(one);
        let (woken_without, ran_out) = (one.throttled, !used_up.is_empty());
        if !woken_without && !ran_out && !one.lost.iter().any(|lost| lost.throttled) {
            return;
        }
        let quota = quota(self.name(one, &used_up));
        for occupant in &mut one.occupants {
            if woken_without || (ran_out && is_kept(&occupant.who, occupant.ns)) {
                occupant.who = quota.clone();
            }
        }
        for lost in one.lost.iter_mut().filter(|lost| lost.throttled) {
            lost.to = quota.clone();
        }
    }

    /// Blames nobody for what may have been the quota; and the quota, where the CPU had nothing else to do.
    pub(crate) fn doubt(&self, one: &mut Traced) {
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

fn is_kept(by: &Who, ns: Span) -> bool {
    by.holder == Holder::Idle && ns >= KEPT
}

const fn quota(name: String) -> Who {
    Who { holder: Holder::Quota, pid: None, name }
}

const fn nobody_knows() -> Who {
    Who { holder: Holder::NotSeen, pid: None, name: String::new() }
}

/// The folder of a thread's group in a hierarchy that controls CPU time: its mount, and the path below, from a line such
/// as `1:cpu,cpuacct:/a/b` of cgroup v1, or `0::/a/b` of v2.
fn group(line: &str, mounts: &str) -> Option<(String, String)> {
    let mut words = line.splitn(3, ':').skip(1);
    let (controllers, path) = (words.next()?, words.next()?);
    let is_cpu = |list: &str| list.split(',').any(|one| one == "cpu");
    let unified = controllers.is_empty();
    let mount = mounts.lines().find_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let [_, place, kind, options, ..] = words.as_slice() else { return None };
        let wanted = if unified { *kind == "cgroup2" } else { *kind == "cgroup" && is_cpu(options) };
        wanted.then(|| (*place).to_owned())
    });
    (unified || is_cpu(controllers)).then_some(())?;
    Some((mount?, path.trim_end_matches('/').to_owned()))
}

/// The folders of a group and of those above it, each with its path.
fn upwards((mount, path): (String, String)) -> Vec<(String, String)> {
    let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    let named = |path: &str| if path.is_empty() { "/".to_owned() } else { path.to_owned() };
    ends.map(|end| (format!("{mount}{}", &path[..end]), named(&path[..end]))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::{Occupant, Span, WokenBy};

    const MOUNTS: &str = "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu,cpuacct 0 0\ncgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";

    #[test]
    fn groups_are_found_in_both_hierarchies() {
        let files = |line: &str| group(line, MOUNTS).map(upwards);
        let (cpu, unified) = ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup/unified");
        let expected = [("", "/"), ("/a", "/a"), ("/a/b", "/a/b")];
        let expected = expected.map(|(below, path)| (format!("{cpu}{below}"), path.to_owned()));
        assert_eq!(files("1:cpu,cpuacct:/a/b"), Some(expected.to_vec()));
        assert_eq!(files("0::/"), Some(vec![(unified.to_owned(), "/".to_owned())]));
        assert_eq!(files("2:memory:/a"), None);
        assert_eq!(files("2:cpuset:/a"), None);
    }

    fn woken(waking: i64, again: i64) -> Traced {
        let at = MonotonicTime::from_nanos;
        let who = Who { holder: Holder::Thread, pid: Some(9), name: "hog".into() };
        Traced {
            occupants: vec![Occupant { who: who.clone(), ns: Span::from_nanos(5) }],
            switched_in: Some(at(waking + 5)),
            asleep_again: Some(at(again)),
            ..Traced::woken(7, at(waking), WokenBy::Other(who))
        }
    }

    /// A tree in which thread 7 is in the group `/a/b`, and files of it.
    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new() -> Self {
            let tree = Self(tempfile::tempdir().unwrap());
            tree.write("proc/7/cgroup", "1:cpu:/a/b\n");
            tree.write("proc/self/mounts", MOUNTS);
            for group in ["", "a/", "a/b/"] {
                tree.stopped(group, 3);
            }
            tree
        }

        fn write(&self, file: &str, text: &str) {
            let place = self.0.path().join(file);
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::write(place, text).unwrap();
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
            assert_eq!(one.occupants[0].who.holder == Holder::Thread, blamed, "{waking}");
            one = woken(waking, again);
            one.tid = 8;
            quotas.doubt(&mut one);
            assert_eq!(one.occupants[0].who.holder, Holder::Thread, "it is in none of these groups");
        }
    }

    #[test]
    fn who_may_run_and_does_not_on_an_idle_cpu_is_kept_by_the_quota() {
        let quotas = Tree::new().looked_at("a/");
        for (ns, holder, name) in [(100_000, Holder::Quota, "/a"), (99_999, Holder::NotSeen, "")] {
            let mut one = woken(250, 350);
            one.occupants[0] = Occupant { who: idle(), ns: Span::from_nanos(ns) };
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
            one.occupants.push(Occupant { who: idle(), ns: Span::from_nanos(ns) });
            quotas.name_group(&mut one);
            one.occupants.into_iter().map(|one| (one.who.holder, one.who.name)).collect::<Vec<_>>()
        };
        let (hog, idle) = ((Holder::Thread, "hog".to_owned()), (Holder::Idle, String::new()));
        assert_eq!(waited(250, 100_000), [hog.clone(), (Holder::Quota, "/a".to_owned())]);
        assert_eq!(waited(250, 99_999), [hog.clone(), idle.clone()], "leaving idle takes as long");
        assert_eq!(waited(310, 100_000), [hog, idle], "the group had time");
    }

    fn idle() -> Who {
        Who { holder: Holder::Idle, pid: None, name: String::new() }
    }

    /// The name of the group where the kernel said that a quota kept the thread.
    fn named(tree: &Tree, group: &str) -> String {
        let mut one = woken(250, 350);
        one.throttled = true;
        tree.looked_at(group).name_group(&mut one);
        assert_eq!(one.occupants[0].who.holder, Holder::Quota);
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
