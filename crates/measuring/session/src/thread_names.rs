//! Names of the threads of a turn, each looked up once.

use std::collections::HashMap;

use howlate_model::{LateWakeup, WakeupBreakdown};
use howlate_procfs::{Root, Status};

/// Maximum number of cached threads.
const MAX_THREADS: usize = 1_024;

/// Process and names of a thread.
#[derive(Clone, Debug, Default)]
struct ThreadName {
    pid: u32,
    thread: String,
    process: String,
}

/// A cache of thread names.
#[derive(Debug)]
pub(crate) struct ThreadNames {
    root: Root,
    cache: HashMap<u32, ThreadName>,
    /// Names from when a thread started: it may have ended when it was late.
    announced: HashMap<u32, ThreadName>,
}

impl ThreadNames {
    pub(crate) fn below(root: Root) -> Self {
        Self { root, cache: HashMap::new(), announced: HashMap::new() }
    }

    /// Looks up the names of a thread that starts.
    pub(crate) fn meet(&mut self, tid: u32) {
        if self.announced.len() >= MAX_THREADS {
            self.announced.clear();
        }
        self.announced.insert(tid, look(&self.root, tid));
    }

    /// Adds the names of its thread to a wake-up, as far as they are known.
    pub(crate) fn name(&mut self, condition: u32, tid: u32, wakeup: WakeupBreakdown) -> LateWakeup {
        if self.cache.len() >= MAX_THREADS {
            self.cache.clear();
        }
        let Self { root, cache, announced } = self;
        let current = cache.entry(tid).or_insert_with(|| look(root, tid));
        let name = if current.thread.is_empty() { announced.get(&tid).unwrap_or(current) } else { current };
        let ThreadName { pid, thread, process } = name.clone();
        LateWakeup { condition, tid, pid, thread, process, idle_cpu: None, wakeup }
    }
}

fn look(root: &Root, tid: u32) -> ThreadName {
    let pid = Status::read(root, tid).process().unwrap_or(0);
    ThreadName { pid, thread: comm(root, tid), process: comm(root, pid) }
}

/// Name of a thread or process; empty if it does not exist.
fn comm(root: &Root, id: u32) -> String {
    root.read(&format!("/proc/{id}/comm")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::timelines::window::testing::late;

    #[test]
    fn a_thread_that_has_ended_is_called_what_it_was_when_it_was_met() {
        let folder = tempfile::tempdir().unwrap();
        let process = |id: u32, name: &str, pid: u32| {
            let place = folder.path().join(format!("proc/{id}"));
            fs::create_dir_all(&place).unwrap();
            fs::write(place.join("comm"), format!("{name}\n")).unwrap();
            fs::write(place.join("status"), format!("Name:\t{name}\nTgid:\t{pid}\n")).unwrap();
        };
        process(6, "server", 6);
        process(7, "worker", 6);
        let mut names = ThreadNames::below(Root::at(folder.path()));
        names.meet(7);
        fs::remove_dir_all(folder.path().join("proc/7")).unwrap();
        let mut name = |tid| {
            let wakeup = names.name(0, tid, late(1, 1).wakeup);
            (wakeup.thread, wakeup.pid, wakeup.process)
        };
        assert_eq!(name(6), ("server".into(), 6, "server".into()));
        assert_eq!(name(7), ("worker".into(), 6, "server".into()));
        assert_eq!(name(9), (String::new(), 0, String::new()));
    }
}
