//! Where threads belong: their process, and their control group.

use std::collections::HashMap;

use howlate_model::{MonotonicTime, Policy, Span};
use howlate_procfs::{CgroupMembership, ProcessStat, Root, Status};

use crate::command_word::command_word;

/// What a thread was found to belong to is believed for so long: its number may be another's then.
const BELIEVED: Span = Span::from_secs(5);
/// The tree of groups is walked at most this often for a number that is not known.
const WALKED: Span = Span::from_secs(5);
/// Threads that are remembered.
const REMEMBERED: usize = 4_096;

/// What a thread belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Its process.
    pub(crate) pid: u32,
    /// The comm of its process.
    pub(crate) process: String,
    /// What that runs, where its comm is an interpreter's.
    pub(crate) command: Option<String>,
    /// The path of its control group.
    pub(crate) group: Option<String>,
    /// How the thread is scheduled.
    pub(crate) policy: Option<Policy>,
}

/// What has been looked up.
pub(crate) struct Origins {
    root: Root,
    now: MonotonicTime,
    threads: HashMap<u32, (MonotonicTime, Option<Origin>)>,
    groups: HashMap<u64, String>,
    walked: Option<MonotonicTime>,
}

impl Origins {
    pub(crate) fn new(root: Root) -> Self {
        let (threads, groups) = (HashMap::new(), HashMap::new());
        Self { root, now: MonotonicTime::default(), threads, groups, walked: None }
    }

    /// It is `now`.
    pub(crate) fn at(&mut self, now: MonotonicTime) {
        self.now = now;
        if self.threads.len() > REMEMBERED {
            self.threads.clear();
        }
    }

    /// What a thread belongs to; `None`: it is gone, or it is none.
    pub(crate) fn of_thread(&mut self, tid: u32) -> Option<Origin> {
        if let Some((at, known)) = self.threads.get(&tid)
            && self.now.since(*at) < BELIEVED
        {
            return known.clone();
        }
        let found = self.look(tid);
        self.threads.insert(tid, (self.now, found.clone()));
        found
    }

    fn look(&self, tid: u32) -> Option<Origin> {
        let pid = Status::read(&self.root, tid).process()?;
        let process = self.root.read(&format!("/proc/{pid}/comm")).ok()?;
        let policy = ProcessStat::read(&self.root, tid).and_then(|stat| stat.policy());
        let command = self.root.read(&format!("/proc/{pid}/cmdline")).ok();
        let command = command.and_then(|line| command_word(&process, &line));
        Some(Origin { pid, process, command, group: self.group_of_process(tid), policy })
    }

    /// What the process of a thread runs, where its comm is an interpreter's.
    pub(crate) fn command(&mut self, tid: u32) -> Option<String> {
        self.of_thread(tid)?.command
    }

    /// The path of the control group with this number, of a process where it is one's: before systemd has the unified
    /// hierarchy to itself, services are only in its own.
    pub(crate) fn group(&mut self, number: u64, pid: u32) -> Option<String> {
        match self.group_path(number) {
            Some(path) if path != "/" => Some(path),
            top => self.group_of_process(pid).or(top),
        }
    }

    /// The path of the control group with this number; `None`: there is none any more.
    pub(crate) fn group_path(&mut self, number: u64) -> Option<String> {
        if number == 0 {
            return None;
        }
        let is_due = self.walked.is_none_or(|walked| self.now.since(walked) >= WALKED);
        if !self.groups.contains_key(&number) && is_due {
            self.groups = self.root.cgroup_paths();
            self.walked = Some(self.now);
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
        let mut origins = Origins::new(Root::at(folder.path()));
        let of = |origins: &mut Origins, pid| origins.group(0, pid);
        assert_eq!(of(&mut origins, 7).as_deref(), Some("/system.slice/a.service"));
        assert_eq!(of(&mut origins, 8).as_deref(), Some("/docker/1f"));
        assert_eq!(of(&mut origins, 9).as_deref(), Some("/"));
        assert_eq!(of(&mut origins, 10), None);
    }

    #[test]
    fn what_a_number_stands_for_is_looked_up_again_after_a_while() {
        let folder = tempfile::tempdir().unwrap();
        let write = |text: &str| howlate_testing::write_below(folder.path(), "proc/8/comm", text);
        howlate_testing::write_below(folder.path(), "proc/8/status", "Tgid:\t8\n");
        write("first");
        let mut origins = Origins::new(Root::at(folder.path()));
        let mut at = |second: i64| {
            origins.at(MonotonicTime::from_nanos(second * 1_000_000_000));
            origins.of_thread(8).map(|one| one.process)
        };
        assert_eq!(at(1).as_deref(), Some("first"));
        write("second");
        assert_eq!((at(2).as_deref(), at(7).as_deref()), (Some("first"), Some("second")));
    }
}
