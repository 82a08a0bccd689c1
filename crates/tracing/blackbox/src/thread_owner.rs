//! Process and control group of threads.

use std::collections::HashMap;

use howlate_linux::clock;
use howlate_model::{MonotonicTime, Policy, Span, WaitClock};
use howlate_procfs::{CgroupMembership, ProcessStat, Root, Status};

use crate::script_name::script_name;

/// How long an entry is valid: a thread may be moved to another group.
const VALID_FOR: Span = Span::from_secs(5);
/// Minimum interval of walking the control groups for an unknown id.
const WALK_INTERVAL: Span = Span::from_secs(5);
const MAX_THREADS: usize = 4_096;

/// Process, control group and policy of a thread, or of several, as far as they are known and common to all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadOwner {
    pub(crate) pid: Option<u32>,
    /// Comm of the process.
    pub(crate) process: Option<String>,
    /// Script of the process, if its comm is an interpreter's.
    pub(crate) command: Option<String>,
    /// Path of the control group.
    pub(crate) group: Option<String>,
    pub(crate) policy: Option<Policy>,
}

impl ThreadOwner {
    /// Of two threads of one program.
    pub(crate) fn keep_common(&mut self, other: &Self) {
        self.pid = self.pid.filter(|pid| other.pid == Some(*pid));
        self.group = self.group.take().filter(|group| other.group.as_ref() == Some(group));
        self.policy = self.policy.filter(|policy| other.policy == Some(*policy));
    }
}

/// What was read of a thread.
struct ThreadEntry {
    read: MonotonicTime,
    /// When it was last found to be still the same thread.
    checked: MonotonicTime,
    stat: Option<ProcessStat>,
    /// Comm of the thread.
    name: String,
    owner: ThreadOwner,
}

impl ThreadEntry {
    /// Whether it existed `at` that time, when it was seen by that name, if one is given.
    fn existed(&self, name: Option<&str>, at: MonotonicTime, ahead: i64) -> bool {
        let is_named = name.is_none_or(|name| name == self.name);
        self.stat.as_ref().is_none_or(|stat| stat.existed(at, ahead, is_named))
    }
}

/// Cache of thread owners.
pub(crate) struct ThreadOwners {
    root: Root,
    now: MonotonicTime,
    /// How far `CLOCK_BOOTTIME` is ahead.
    ahead: i64,
    threads: HashMap<u32, ThreadEntry>,
    groups: HashMap<u64, String>,
    last_walk: Option<MonotonicTime>,
}

impl ThreadOwners {
    pub(crate) fn new(root: Root) -> Self {
        let (threads, groups) = (HashMap::new(), HashMap::new());
        Self { root, now: MonotonicTime::default(), ahead: 0, threads, groups, last_walk: None }
    }

    /// Sets the current time.
    pub(crate) fn at(&mut self, now: MonotonicTime) {
        self.now = now;
        self.ahead = clock::offset_from_monotonic(WaitClock::Boottime);
        if self.threads.len() > MAX_THREADS {
            self.threads.clear();
        }
    }

    /// Nothing is known if the thread has ended.
    pub(crate) fn of_thread(&mut self, tid: u32) -> ThreadOwner {
        self.entry(tid).owner.clone()
    }

    /// Owner of a thread that was seen `at` that time, by that name. Nothing is known if it has ended since: another may have its id.
    pub(crate) fn of_seen_thread(&mut self, tid: u32, name: &str, at: MonotonicTime) -> ThreadOwner {
        let ahead = self.ahead;
        let entry = self.entry(tid);
        if entry.existed(Some(name), at, ahead) { entry.owner.clone() } else { ThreadOwner::default() }
    }

    /// What is known of the thread that has this id now.
    fn entry(&mut self, tid: u32) -> &ThreadEntry {
        let now = self.now;
        let is_checked = self.threads.get(&tid).is_some_and(|entry| entry.checked == now);
        if !is_checked {
            let (stat, name) = (ProcessStat::read(&self.root, tid), self.name_of(tid));
            let is_same = |entry: &ThreadEntry| {
                let start = |stat: &Option<ProcessStat>| stat.as_ref().and_then(ProcessStat::start_ticks);
                now.since(entry.read) < VALID_FOR && start(&entry.stat) == start(&stat) && entry.name == name
            };
            // An ended thread whose id nobody has yet is still who it was.
            let has_ended = |entry: &ThreadEntry| {
                now.since(entry.read) < VALID_FOR && stat.is_none() && entry.stat.is_some()
            };
            match self.threads.get_mut(&tid) {
                Some(entry) if is_same(entry) || has_ended(entry) => entry.checked = now,
                _ => {
                    let owner = self.look(tid, stat.as_ref()).unwrap_or_default();
                    self.threads.insert(tid, ThreadEntry { read: now, checked: now, stat, name, owner });
                }
            }
        }
        &self.threads[&tid]
    }

    fn name_of(&self, tid: u32) -> String {
        self.root.read(&format!("/proc/{tid}/comm")).unwrap_or_default()
    }

    /// `None` if it has ended.
    fn look(&self, tid: u32, stat: Option<&ProcessStat>) -> Option<ThreadOwner> {
        let pid = Status::read(&self.root, tid).process()?;
        let process = self.root.read(&format!("/proc/{pid}/comm")).ok()?;
        let policy = stat.and_then(ProcessStat::policy);
        let command = self.root.read(&format!("/proc/{pid}/cmdline")).ok();
        let command = command.and_then(|line| script_name(&process, &line));
        let (pid, process) = (Some(pid), Some(process));
        Some(ThreadOwner { pid, process, command, group: self.group_of_process(tid), policy })
    }

    /// Script of the process of a thread that was seen `at` that time, if its comm is an interpreter's.
    pub(crate) fn command(&mut self, tid: u32, name: &str, at: MonotonicTime) -> Option<String> {
        self.of_seen_thread(tid, name, at).command
    }

    /// Path of the control group with this id, otherwise of the process, which was seen `at` that time: until systemd has the unified
    /// hierarchy to itself, services are only in its own.
    pub(crate) fn group(&mut self, number: u64, pid: u32, at: MonotonicTime) -> Option<String> {
        match self.group_path(number) {
            Some(path) if path != "/" => Some(path),
            top => {
                let ahead = self.ahead;
                let existed = self.entry(pid).existed(None, at, ahead);
                Some(pid).filter(|_| existed).and_then(|pid| self.group_of_process(pid)).or(top)
            }
        }
    }

    /// `None` if the group no longer exists.
    pub(crate) fn group_path(&mut self, number: u64) -> Option<String> {
        if number == 0 {
            return None;
        }
        let is_due = self.last_walk.is_none_or(|last_walk| self.now.since(last_walk) >= WALK_INTERVAL);
        if !self.groups.contains_key(&number) && is_due {
            self.groups = self.root.cgroup_paths();
            self.last_walk = Some(self.now);
        }
        self.groups.get(&number).cloned()
    }

    fn group_of_process(&self, pid: u32) -> Option<String> {
        CgroupMembership::read(&self.root, pid).path().map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hierarchy_that_says_something_says_where_a_process_is() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| howlate_testing::write_below(folder.path(), file, text);
        write("proc/7/cgroup", "4:cpu:/docker/1f\n1:name=systemd:/system.slice/a.service\n0::/\n");
        write("proc/8/cgroup", "4:cpu:/docker/1f\n0::/\n");
        write("proc/9/cgroup", "0::/\n");
        let mut owners = ThreadOwners::new(Root::at(folder.path()));
        let of = |owners: &mut ThreadOwners, pid| owners.group(0, pid, MonotonicTime::default());
        assert_eq!(of(&mut owners, 7).as_deref(), Some("/system.slice/a.service"));
        assert_eq!(of(&mut owners, 8).as_deref(), Some("/docker/1f"));
        assert_eq!(of(&mut owners, 9).as_deref(), Some("/"));
        assert_eq!(of(&mut owners, 10), None);
    }

    #[test]
    fn what_a_number_stands_for_is_looked_up_again_after_a_while() {
        let folder = tempfile::tempdir().unwrap();
        let write = |text: &str| howlate_testing::write_below(folder.path(), "proc/8/comm", text);
        howlate_testing::write_below(folder.path(), "proc/8/status", "Tgid:\t8\n");
        write("first");
        let mut owners = ThreadOwners::new(Root::at(folder.path()));
        let mut at = |second: i64| {
            owners.at(MonotonicTime::from_nanos(second * 1_000_000_000));
            owners.of_thread(8).process
        };
        assert_eq!(at(1).as_deref(), Some("first"));
        write("second");
        assert_eq!(
            (at(1).as_deref(), at(2).as_deref()),
            (Some("first"), Some("second")),
            "it has another name"
        );
    }

    /// A machine whose process 8 began at `start`, in ticks.
    fn machine(folder: &std::path::Path, name: &str, start: u64) {
        let write = |file: &str, text: &str| howlate_testing::write_below(folder, file, text);
        write("proc/8/status", "Tgid:\t8\n");
        write("proc/8/comm", name);
        write("proc/8/cgroup", &format!("0::/{name}.service\n"));
        write("proc/8/stat", &format!("8 ({name}) R{} {start} {} 0 0", " 0".repeat(18), "0 ".repeat(18)));
    }

    #[test]
    fn who_has_the_id_of_an_ended_thread_is_somebody_else() {
        let folder = tempfile::tempdir().unwrap();
        let second = |second: i64| MonotonicTime::from_nanos(second * 1_000_000_000);
        let mut owners = ThreadOwners::new(Root::at(folder.path()));
        let seen = |owners: &mut ThreadOwners, name: &str, at| owners.of_seen_thread(8, name, at).process;
        machine(folder.path(), "hog", 0);
        owners.at(second(3));
        assert_eq!(seen(&mut owners, "hog", second(2)).as_deref(), Some("hog"));
        std::fs::remove_dir_all(folder.path().join("proc/8")).unwrap();
        owners.at(second(3).plus(Span::from_millis(500)));
        assert_eq!(seen(&mut owners, "hog", second(2)).as_deref(), Some("hog"), "it has ended since");
        // Far enough in the future for any difference of the two clocks.
        machine(folder.path(), "innocent", 1_000_000_000_000);
        owners.at(second(4));
        assert_eq!(seen(&mut owners, "hog", second(2)), None);
        assert_eq!((owners.command(8, "hog", second(2)), owners.group(0, 8, second(2))), (None, None));
        assert_eq!(owners.of_thread(8).process.as_deref(), Some("innocent"));
    }

    #[test]
    fn who_was_looked_up_before_it_had_its_name_is_looked_up_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut owners = ThreadOwners::new(Root::at(folder.path()));
        let mut process_at = |second: i64, name: &str| {
            let at = MonotonicTime::from_nanos(second * 1_000_000_000);
            machine(folder.path(), name, 0);
            owners.at(at);
            owners.of_seen_thread(8, name, at).process
        };
        assert_eq!(process_at(1, "sh").as_deref(), Some("sh"));
        assert_eq!(process_at(2, "hog").as_deref(), Some("hog"));
    }
}
