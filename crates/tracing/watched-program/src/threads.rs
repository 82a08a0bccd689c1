//! The threads of the watched processes, found in `/proc` and by a tracer's events.

use std::collections::HashMap;

use howlate_linux::sched;
use howlate_model::{CpuSet, EffectiveSettings, LifeEvent, LifeEventKind, MonotonicTime, Policy, Span};
use howlate_procfs::{ProcessStat, Root, Status, descendants, threads};

/// A thread of a watched process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedThread {
    pub tid: u32,
    /// The thread's process.
    pub pid: u32,
}

/// Threads that started or ended between two updates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadChanges {
    pub started: Vec<WatchedThread>,
    pub ended: Vec<u32>,
}

/// What a tracer reported of a thread when it started or was renamed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadStart {
    /// `None` where the event lacks parameters, as for `SCHED_DEADLINE`.
    pub policy: Option<Policy>,
    /// Timer slack.
    pub slack: Span,
    process: u32,
    name: String,
}

/// The threads of the watched processes, updated from `/proc` and from a tracer's events.
#[derive(Debug)]
pub struct WatchedThreads {
    root: Root,
    process: u32,
    /// Start time of the process in clock ticks: a later process may reuse its id.
    start_time: Option<u64>,
    /// When its main thread ended, if a tracer reported it.
    ended_at: Option<MonotonicTime>,
    /// Whether its descendants are watched as well.
    with_children: bool,
    /// The process of each thread.
    processes: HashMap<u32, u32>,
    names: HashMap<u32, String>,
    /// Threads that a tracer reported.
    traced: HashMap<u32, ThreadStart>,
}

impl WatchedThreads {
    /// The threads of `process`, and of its descendants if `with_children`.
    pub fn new(root: Root, process: u32, with_children: bool) -> Self {
        let (processes, names, traced) = (HashMap::new(), HashMap::new(), HashMap::new());
        let start_time = ProcessStat::read(&root, process).and_then(|stat| stat.start_ticks());
        Self { root, process, start_time, ended_at: None, with_children, processes, names, traced }
    }

    pub fn update(&mut self) -> ThreadChanges {
        let mut pids: Vec<u32> = self.stat().map(|_| self.process).into_iter().collect();
        if self.with_children && !pids.is_empty() {
            pids.extend(descendants(&self.root, self.process));
        }
        let of = |pid: &u32| -> Vec<WatchedThread> {
            let tids = threads(&self.root, *pid);
            tids.into_iter().map(|tid| WatchedThread { tid, pid: *pid }).collect()
        };
        let all: Vec<WatchedThread> = pids.iter().flat_map(of).collect();
        let current: HashMap<u32, u32> = all.iter().map(|thread| (thread.tid, thread.pid)).collect();
        let started = all.into_iter().filter(|thread| !self.processes.contains_key(&thread.tid)).collect();
        let ended = self
            .processes
            .keys()
            .filter(|tid| !current.contains_key(tid) && !self.runs_on(**tid))
            .copied()
            .collect();
        self.processes = current;
        ThreadChanges { started, ended }
    }

    /// Whether a thread that a tracer reported still runs although its watched ancestors have ended.
    fn runs_on(&self, tid: u32) -> bool {
        self.traced.contains_key(&tid) && self.root.has(&format!("/proc/{tid}/comm"))
    }

    /// Notes when the main thread of the process ended: from then on its id can belong to another process.
    pub fn note_end(&mut self, lives: &[LifeEvent]) {
        let ends = |life: &&LifeEvent| life.tid == self.process && life.happened == LifeEventKind::Ended;
        self.ended_at = self.ended_at.or(lives.iter().find(ends).map(|life| life.at));
    }

    /// Whether an event of a thread at time `at` belongs to a new process that reuses the id of the watched one.
    pub fn is_of_another(&self, tid: u32, at: MonotonicTime) -> bool {
        let is_known = || self.processes.contains_key(&tid) || self.traced.contains_key(&tid);
        // Children go on when their parent has ended.
        let is_new = || tid == self.process || !(self.with_children || is_known());
        self.ended_at.is_some_and(|ended| at > ended) && is_new() && self.has_ended()
    }

    /// Notes a tracer's event of a thread.
    pub fn note_life(&mut self, life: LifeEvent) {
        let LifeEvent { tid, process, name, policy, slack, .. } = life;
        self.traced.insert(tid, ThreadStart { policy, slack, process, name });
    }

    /// The latest event of a thread.
    pub fn start_of(&self, tid: u32) -> Option<&ThreadStart> {
        self.traced.get(&tid)
    }

    /// The threads found by the last update.
    pub fn all(&self) -> Vec<u32> {
        self.processes.keys().copied().collect()
    }

    /// The process of a thread; the watched process where that is unknown.
    pub fn process_of(&self, tid: u32) -> u32 {
        let traced = self.traced.get(&tid).map(|start| start.process);
        traced.or_else(|| self.processes.get(&tid).copied()).unwrap_or(self.process)
    }

    /// Current name of a thread, or the last one that was read; `None` if none ever was.
    pub fn name(&mut self, tid: u32) -> Option<String> {
        if let Some(start) = self.traced.get(&tid) {
            return Some(start.name.clone());
        }
        if let Ok(name) = self.root.read(&format!("/proc/{tid}/comm")) {
            self.names.insert(tid, name);
        }
        self.names.get(&tid).cloned()
    }

    /// Forgets the name of a thread that has ended.
    pub fn forget_name(&mut self, tid: u32) {
        self.names.remove(&tid);
        self.traced.remove(&tid);
    }

    /// Whether the process has ended.
    pub fn has_ended(&self) -> bool {
        self.stat().is_none_or(|stat| stat.has_ended())
    }

    /// `/proc/PID/stat` of the process; `None` once another process reuses its id.
    fn stat(&self) -> Option<ProcessStat> {
        ProcessStat::read(&self.root, self.process).filter(|stat| stat.start_ticks() == self.start_time)
    }
}

/// Scheduling attributes of a thread that is not howlate's own; those of `start` where it has ended or may not be read.
pub fn in_force(tid: u32, start: Option<&ThreadStart>) -> EffectiveSettings {
    let root = Root::live();
    let nanos = root.read(&format!("/proc/{tid}/timerslack_ns")).ok().and_then(|nanos| nanos.parse().ok());
    let policy = sched::policy(tid).ok().or(start.and_then(|start| start.policy));
    let slack = nanos.map(Span::from_nanos).or(start.map(|start| start.slack));
    EffectiveSettings {
        tid,
        policy: policy.unwrap_or(Policy::OTHER),
        slack: slack.unwrap_or_default(),
        cpus: sched::affinity_of(tid).unwrap_or_else(|_| CpuSet::default()),
        memory_locked: Status::read(&root, tid).is_memory_locked(),
        dma_latency_us: None,
        slice: None,
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
        let mut alone = WatchedThreads::new(Root::at(folder.path()), 7, false);
        assert_eq!(alone.update().started, [WatchedThread { tid: 7, pid: 7 }]);
        let mut threads = WatchedThreads::new(Root::at(folder.path()), 7, true);
        assert_eq!(
            threads.update().started,
            [WatchedThread { tid: 7, pid: 7 }, WatchedThread { tid: 20, pid: 20 }]
        );
        assert_eq!(threads.name(20).as_deref(), Some("child"));
        assert_eq!(threads.name(7), None);
        make("proc/7/task/8/children", "");
        std::fs::remove_dir_all(folder.path().join("proc/20")).unwrap();
        assert_eq!(
            threads.update(),
            ThreadChanges { started: vec![WatchedThread { tid: 8, pid: 7 }], ended: vec![20] }
        );
        assert_eq!(threads.name(20).as_deref(), Some("child"), "gone, and its name is known");
        threads.forget_name(20);
        assert_eq!(threads.name(20), None);
        let life = |tid, process, name: &str| LifeEvent {
            tid,
            process,
            at: MonotonicTime::default(),
            happened: LifeEventKind::Born,
            name: name.to_owned(),
            policy: None,
            slack: Span::ZERO,
        };
        threads.note_life(life(30, 29, "brief"));
        assert_eq!((threads.name(30).as_deref(), threads.process_of(30)), (Some("brief"), 29));
        threads.forget_name(30);
        assert_eq!((threads.name(30), threads.process_of(30)), (None, 7));
        assert!(!threads.has_ended());
        make("proc/7/stat", "7 (a) b) Z 1");
        assert!(threads.has_ended());
    }

    #[test]
    fn another_process_with_the_same_id_is_not_taken_for_it() {
        let began = |tick: u32| format!("7 (a) S 1 7 7 0 -1 4 0 0 0 0 1 2 0 0 20 0 1 0 {tick} 0");
        let tree = howlate_testing::tree(&[("proc/7/stat", began(90).as_str()), ("proc/7/task/7/comm", "a")]);
        let mut threads = WatchedThreads::new(Root::at(tree.path()), 7, false);
        assert_eq!((threads.update().started.len(), threads.has_ended()), (1, false));
        howlate_testing::write_below(tree.path(), "proc/7/stat", &began(91));
        let after = threads.update();
        assert_eq!((after.started.len(), after.ended, threads.has_ended()), (0, vec![7], true));
        let at = MonotonicTime::from_nanos;
        assert!(!threads.is_of_another(7, at(200)), "nobody has told when it ended");
        let (name, policy, slack, process) = (String::new(), None, Span::ZERO, 7);
        let ended_at =
            LifeEvent { tid: 7, process, at: at(100), happened: LifeEventKind::Ended, name, policy, slack };
        threads.note_end(&[ended_at]);
        assert!(!threads.is_of_another(7, at(90)) && threads.is_of_another(7, at(200)));
        assert!(threads.is_of_another(8, at(200)), "a thread of that one");
    }
}
