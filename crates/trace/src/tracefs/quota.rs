//! Whether a followed thread's control group used up its quota meanwhile.
//!
//! No trace event tells that a thread is kept off its CPU by a quota: it looks as if whoever had the CPU were to blame. The
//! kernel counts how often a group was out of quota; around such times nobody is blamed.
//!
//! Source: `Documentation/scheduler/sched-bwc.rst`, `Documentation/admin-guide/cgroup-v2.rst`.

use std::collections::{BTreeMap, VecDeque};

use howlate_model::{Holder, MonotonicTime, Traced, Who};
use howlate_procfs::Root;

/// Times that are remembered; sleeps that are told later than that many readings are of threads that hardly run.
const REMEMBERED: usize = 1024;

/// The groups of the threads that are followed.
pub(super) struct Quotas {
    root: Root,
    /// How often each was out of quota, by the file that tells.
    groups: BTreeMap<String, u64>,
    /// Between which readings one of them was.
    used_up: VecDeque<(MonotonicTime, MonotonicTime)>,
    read_at: MonotonicTime,
}

impl Quotas {
    pub(super) fn new(root: Root) -> Self {
        let (groups, used_up) = (BTreeMap::new(), VecDeque::new());
        Self { root, groups, used_up, read_at: MonotonicTime::from_nanos(0) }
    }

    /// Takes in the group of a thread, and those above it.
    pub(super) fn follow(&mut self, tid: u32, now: MonotonicTime) {
        let listed = self.root.read(&format!("/proc/{tid}/cgroup")).unwrap_or_default();
        let mounts = self.root.read("/proc/self/mounts").unwrap_or_default();
        for file in listed.lines().filter_map(|line| group(line, &mounts)).flat_map(upwards) {
            let times = self.times(&file);
            self.groups.insert(file, times);
        }
        self.read_at = now;
    }

    /// Looks which groups were out of quota since the last time.
    pub(super) fn look(&mut self, now: MonotonicTime) {
        let times: Vec<u64> = self.groups.keys().map(|file| self.times(file)).collect();
        let since = std::mem::replace(&mut self.read_at, now);
        if self.groups.values().zip(&times).any(|(before, now)| now > before) {
            self.used_up.push_back((since, now));
        }
        if self.used_up.len() > REMEMBERED {
            self.used_up.pop_front();
        }
        self.groups.values_mut().zip(times).for_each(|(before, now)| *before = now);
    }

    fn times(&self, file: &str) -> u64 {
        let stat = self.root.read(file).unwrap_or_default();
        let times = stat.lines().find_map(|line| line.strip_prefix("nr_throttled "));
        times.and_then(|times| times.trim().parse().ok()).unwrap_or(0)
    }

    /// Blames nobody for what may have been the quota.
    pub(super) fn doubt(&self, one: &mut Traced) {
        let until = one.asleep_again.unwrap_or(self.read_at);
        if self.used_up.iter().any(|(from, to)| *from <= until && one.waking <= *to) {
            let nobody_knows = || Who { holder: Holder::NotSeen, pid: None, name: String::new() };
            one.occupants.iter_mut().for_each(|occupant| occupant.who = nobody_knows());
            one.lost.iter_mut().for_each(|lost| lost.to = nobody_knows());
        }
    }
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

/// The files of a group and of those above it that tell how often they were out of quota.
fn upwards((mount, path): (String, String)) -> Vec<String> {
    let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    ends.map(|end| format!("{mount}{}/cpu.stat", &path[..end])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::{Asleep, Occupant, Span, WokenBy};

    const MOUNTS: &str = "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu,cpuacct 0 0\ncgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";

    #[test]
    fn groups_are_found_in_both_hierarchies() {
        let files = |line: &str| group(line, MOUNTS).map(upwards);
        let (cpu, unified) = ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup/unified");
        let expected = ["", "/a", "/a/b"].map(|path| format!("{cpu}{path}/cpu.stat"));
        assert_eq!(files("1:cpu,cpuacct:/a/b"), Some(expected.to_vec()));
        assert_eq!(files("0::/"), Some(vec![format!("{unified}/cpu.stat")]));
        assert_eq!(files("2:memory:/a"), None);
        assert_eq!(files("2:cpuset:/a"), None);
    }

    fn woken(waking: i64, again: i64) -> Traced {
        let at = MonotonicTime::from_nanos;
        let who = Who { holder: Holder::Thread, pid: Some(9), name: "hog".into() };
        Traced {
            tid: 7,
            asleep_since: None,
            asleep: Asleep::Waiting,
            woken_by: WokenBy::Other(who.clone()),
            waking: at(waking),
            runnable: at(waking),
            occupants: vec![Occupant { who, ns: Span::from_nanos(5) }],
            unnamed: Span::ZERO,
            switched_in: Some(at(waking + 5)),
            cpu: 0,
            migrated: false,
            throttled: false,
            rt_throttled: false,
            lost: vec![],
            lost_more: 0,
            first_fault: None,
            asleep_again: Some(at(again)),
        }
    }

    #[test]
    fn nobody_is_blamed_around_a_time_without_quota() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let place = folder.path().join(file);
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::write(place, text).unwrap();
        };
        write("proc/7/cgroup", "1:cpu:/a\n");
        write("proc/self/mounts", MOUNTS);
        write("sys/fs/cgroup/cpu/a/cpu.stat", "nr_periods 9\nnr_throttled 3\n");
        let at = MonotonicTime::from_nanos;
        let mut quotas = Quotas::new(Root::at(folder.path()));
        quotas.follow(7, at(100));
        quotas.look(at(200));
        write("sys/fs/cgroup/cpu/a/cpu.stat", "nr_periods 9\nnr_throttled 4\n");
        quotas.look(at(300));
        quotas.look(at(400));
        for (waking, again, blamed) in
            [(150, 190, true), (150, 210, false), (250, 350, false), (310, 350, true)]
        {
            let mut one = woken(waking, again);
            quotas.doubt(&mut one);
            assert_eq!(one.occupants[0].who.holder == Holder::Thread, blamed, "{waking}");
        }
    }
}
