//! The threads of watched processes, as they come and go.

use std::collections::HashMap;

use howlate_model::{Happened, Life, MonotonicTime, Policy, Span};
use howlate_procfs::{ProcessStat, Root, descendants, threads};

/// A thread that has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedThread {
    /// The thread's id.
    pub tid: u32,
    /// The process that it belongs to.
    pub pid: u32,
}

/// What has changed since it was last looked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// Threads that have come.
    pub come: Vec<WatchedThread>,
    /// Threads that have gone.
    pub gone: Vec<u32>,
}

/// What a tracer told of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadStart {
    /// The policy in force; `None` where it did not tell all of it.
    pub policy: Option<Policy>,
    /// The timer slack in force.
    pub slack: Span,
    process: u32,
    name: String,
}

/// The threads of watched processes, found by looking now and then; a tracer may tell more.
#[derive(Debug)]
pub struct Threads {
    root: Root,
    process: u32,
    /// When that began: another one may have its id later.
    begun: Option<u64>,
    /// When its first thread ended, where a tracer has told.
    ended: Option<MonotonicTime>,
    /// Processes that are watched besides are the children, and theirs.
    with_children: bool,
    /// Which process each thread is of.
    known: HashMap<u32, u32>,
    names: HashMap<u32, String>,
    /// Those that a tracer tells of.
    told: HashMap<u32, ThreadStart>,
}

impl Threads {
    /// Those of `process`, and of its children if asked for.
    pub fn new(root: Root, process: u32, with_children: bool) -> Self {
        let (known, names, told) = (HashMap::new(), HashMap::new(), HashMap::new());
        let begun = ProcessStat::read(&root, process).and_then(|stat| stat.begun());
        Self { root, process, begun, ended: None, with_children, known, names, told }
    }

    /// What has changed since it was last looked.
    pub fn look(&mut self) -> Looked {
        let mut processes: Vec<u32> = self.stat().map(|_| self.process).into_iter().collect();
        if self.with_children && !processes.is_empty() {
            processes.extend(descendants(&self.root, self.process));
        }
        let of = |pid: &u32| -> Vec<WatchedThread> {
            let tids = threads(&self.root, *pid);
            tids.into_iter().map(|tid| WatchedThread { tid, pid: *pid }).collect()
        };
        let all: Vec<WatchedThread> = processes.iter().flat_map(of).collect();
        let here: HashMap<u32, u32> = all.iter().map(|one| (one.tid, one.pid)).collect();
        let come = all.into_iter().filter(|one| !self.known.contains_key(&one.tid)).collect();
        let gone = self
            .known
            .keys()
            .filter(|tid| !here.contains_key(tid) && !self.runs_on(**tid))
            .copied()
            .collect();
        self.known = here;
        Looked { come, gone }
    }

    /// Whether one that was told of is there although nobody above it is any more that was watched.
    fn runs_on(&self, tid: u32) -> bool {
        self.told.contains_key(&tid) && self.root.has(&format!("/proc/{tid}/comm"))
    }

    /// Notes when the first thread of the process ended, if a tracer tells: its id can be another's from then on.
    pub fn note_end(&mut self, lives: &[Life]) {
        let ends = |life: &&Life| life.tid == self.process && life.happened == Happened::Ended;
        self.ended = self.ended.or(lives.iter().find(ends).map(|life| life.at));
    }

    /// Whether what was seen of a thread `at` that time is of another process, which has got the id of the one that is watched.
    pub fn is_of_another(&self, tid: u32, at: MonotonicTime) -> bool {
        let is_known = || self.known.contains_key(&tid) || self.told.contains_key(&tid);
        // Children go on when their parent has ended.
        let is_new = || tid == self.process || !(self.with_children || is_known());
        self.ended.is_some_and(|ended| at > ended) && is_new() && self.is_over()
    }

    /// Takes what a tracer told of a thread.
    pub fn tell(&mut self, life: Life) {
        let Life { tid, process, name, policy, slack, .. } = life;
        self.told.insert(tid, ThreadStart { policy, slack, process, name });
    }

    /// What was told of a thread most recently.
    pub fn find(&self, tid: u32) -> Option<&ThreadStart> {
        self.told.get(&tid)
    }

    /// The threads that were found when it was last looked.
    pub fn all(&self) -> Vec<u32> {
        self.known.keys().copied().collect()
    }

    /// The process that a thread is of; the first one where nobody knows.
    pub fn process_of(&self, tid: u32) -> u32 {
        let told = self.told.get(&tid).map(|told| told.process);
        told.or_else(|| self.known.get(&tid).copied()).unwrap_or(self.process)
    }

    /// What a thread is called now, or was when it was last asked; `None` where nobody ever knew.
    pub fn name(&mut self, tid: u32) -> Option<String> {
        if let Some(told) = self.told.get(&tid) {
            return Some(told.name.clone());
        }
        if let Ok(name) = self.root.read(&format!("/proc/{tid}/comm")) {
            self.names.insert(tid, name);
        }
        self.names.get(&tid).cloned()
    }

    /// Nobody will ask for its name any more.
    pub fn forget(&mut self, tid: u32) {
        self.names.remove(&tid);
        self.told.remove(&tid);
    }

    /// Whether the process has ended.
    pub fn is_over(&self) -> bool {
        self.stat().is_none_or(|stat| stat.has_ended())
    }

    /// What the kernel says of the process, unless another has its id by now.
    fn stat(&self) -> Option<ProcessStat> {
        ProcessStat::read(&self.root, self.process).filter(|stat| stat.begun() == self.begun)
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn threads_come_go_and_are_remembered_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let make = |path: &str, text: &str| {
            let file = folder.path().join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        make("proc/7/stat", "7 (a) b) S 1");
        make("proc/7/task/7/children", "20");
        make("proc/20/task/20/children", "");
        make("proc/20/comm", "child\n");
        let mut alone = Threads::new(Root::at(folder.path()), 7, false);
        assert_eq!(alone.look().come, [WatchedThread { tid: 7, pid: 7 }]);
        let mut threads = Threads::new(Root::at(folder.path()), 7, true);
        assert_eq!(
            threads.look().come,
            [WatchedThread { tid: 7, pid: 7 }, WatchedThread { tid: 20, pid: 20 }]
        );
        assert_eq!(threads.name(20).as_deref(), Some("child"));
        assert_eq!(threads.name(7), None);
        make("proc/7/task/8/children", "");
        std::fs::remove_dir_all(folder.path().join("proc/20")).unwrap();
        assert_eq!(threads.look(), Looked { come: vec![WatchedThread { tid: 8, pid: 7 }], gone: vec![20] });
        assert_eq!(threads.name(20).as_deref(), Some("child"), "gone, and its name is known");
        threads.forget(20);
        assert_eq!(threads.name(20), None);
        let life = |tid, process, name: &str| Life {
            tid,
            process,
            at: MonotonicTime::default(),
            happened: Happened::Born,
            name: name.to_owned(),
            policy: None,
            slack: Span::ZERO,
        };
        threads.tell(life(30, 29, "brief"));
        assert_eq!((threads.name(30).as_deref(), threads.process_of(30)), (Some("brief"), 29));
        threads.forget(30);
        assert_eq!((threads.name(30), threads.process_of(30)), (None, 7));
        assert!(!threads.is_over());
        make("proc/7/stat", "7 (a) b) Z 1");
        assert!(threads.is_over());
    }

    #[test]
    fn another_process_with_the_same_id_is_not_taken_for_it() {
        let began = |tick: u32| format!("7 (a) S 1 7 7 0 -1 4 0 0 0 0 1 2 0 0 20 0 1 0 {tick} 0");
        let tree = howlate_testing::tree(&[("proc/7/stat", began(90).as_str()), ("proc/7/task/7/comm", "a")]);
        let mut threads = Threads::new(Root::at(tree.path()), 7, false);
        assert_eq!((threads.look().come.len(), threads.is_over()), (1, false));
        howlate_testing::write_below(tree.path(), "proc/7/stat", &began(91));
        let after = threads.look();
        assert_eq!((after.come.len(), after.gone, threads.is_over()), (0, vec![7], true));
        let at = MonotonicTime::from_nanos;
        assert!(!threads.is_of_another(7, at(200)), "nobody has told when it ended");
        let (name, policy, slack, process) = (String::new(), None, Span::ZERO, 7);
        let ended = Life { tid: 7, process, at: at(100), happened: Happened::Ended, name, policy, slack };
        threads.note_end(&[ended]);
        assert!(!threads.is_of_another(7, at(90)) && threads.is_of_another(7, at(200)));
        assert!(threads.is_of_another(8, at(200)), "a thread of that one");
    }
}
