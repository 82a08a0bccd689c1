//! Process and control group of threads.

use std::collections::HashMap;

use howlate_model::{MonotonicTime, Policy, Span};
use howlate_procfs::{CgroupMembership, ProcessStat, Root, Status};

use crate::script_name::script_name;

/// How long an entry is valid: the thread id may be reused.
const VALID_FOR: Span = Span::from_secs(5);
/// Minimum interval of walking the control groups for an unknown id.
const WALK_INTERVAL: Span = Span::from_secs(5);
const MAX_THREADS: usize = 4_096;

/// Process, control group and policy of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ThreadOwner {
    pub(crate) pid: u32,
    /// Comm of the process.
    pub(crate) process: String,
    /// Script of the process, if its comm is an interpreter's.
    pub(crate) command: Option<String>,
    /// Path of the control group.
    pub(crate) group: Option<String>,
    pub(crate) policy: Option<Policy>,
}

/// Cache of thread owners.
pub(crate) struct ThreadOwners {
    root: Root,
    now: MonotonicTime,
    threads: HashMap<u32, (MonotonicTime, Option<ThreadOwner>)>,
    groups: HashMap<u64, String>,
    last_walk: Option<MonotonicTime>,
}

impl ThreadOwners {
    pub(crate) fn new(root: Root) -> Self {
        let (threads, groups) = (HashMap::new(), HashMap::new());
        Self { root, now: MonotonicTime::default(), threads, groups, last_walk: None }
    }

    /// Sets the current time.
    pub(crate) fn at(&mut self, now: MonotonicTime) {
        self.now = now;
        if self.threads.len() > MAX_THREADS {
            self.threads.clear();
        }
    }

    /// `None` if the thread has ended.
    pub(crate) fn of_thread(&mut self, tid: u32) -> Option<ThreadOwner> {
        if let Some((at, owner)) = self.threads.get(&tid)
            && self.now.since(*at) < VALID_FOR
        {
            return owner.clone();
        }
        let found = self.look(tid);
        self.threads.insert(tid, (self.now, found.clone()));
        found
    }

    fn look(&self, tid: u32) -> Option<ThreadOwner> {
        let pid = Status::read(&self.root, tid).process()?;
        let process = self.root.read(&format!("/proc/{pid}/comm")).ok()?;
        let policy = ProcessStat::read(&self.root, tid).and_then(|stat| stat.policy());
        let command = self.root.read(&format!("/proc/{pid}/cmdline")).ok();
        let command = command.and_then(|line| script_name(&process, &line));
        Some(ThreadOwner { pid, process, command, group: self.group_of_process(tid), policy })
    }

    /// Script of the thread's process, if its comm is an interpreter's.
    pub(crate) fn command(&mut self, tid: u32) -> Option<String> {
        self.of_thread(tid)?.command
    }

    /// Path of the control group with this id, otherwise of the process: until systemd has the unified hierarchy to
    /// itself, services are only in its own.
    pub(crate) fn group(&mut self, number: u64, pid: u32) -> Option<String> {
        match self.group_path(number) {
            Some(path) if path != "/" => Some(path),
            top => self.group_of_process(pid).or(top),
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
        let of = |owners: &mut ThreadOwners, pid| owners.group(0, pid);
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
            owners.of_thread(8).map(|owner| owner.process)
        };
        assert_eq!(at(1).as_deref(), Some("first"));
        write("second");
        assert_eq!((at(2).as_deref(), at(7).as_deref()), (Some("first"), Some("second")));
    }
}
