//! What threads are called, looked up once for each while a timeline is under way.

use std::collections::HashMap;

use howlate_model::{Explained, LateWakeup};
use howlate_procfs::{Root, Status};

/// Threads that are remembered.
const REMEMBERED: usize = 1_024;

/// A thread's process, its name, and that of its process.
#[derive(Clone, Debug, Default)]
struct Name {
    pid: u32,
    thread: String,
    process: String,
}

/// What was looked up.
#[derive(Debug)]
pub(super) struct Names {
    root: Root,
    known: HashMap<u32, Name>,
}

impl Names {
    pub(super) fn below(root: Root) -> Self {
        Self { root, known: HashMap::new() }
    }

    /// Threads may be called otherwise from now on.
    pub(super) fn forget(&mut self) {
        self.known.clear();
    }

    /// A wake-up with its thread's names, as far as that is there.
    pub(super) fn name(&mut self, condition: u32, tid: u32, wakeup: &Explained) -> LateWakeup {
        if self.known.len() >= REMEMBERED {
            self.forget();
        }
        let Self { root, known } = self;
        let Name { pid, thread, process } = known.entry(tid).or_insert_with(|| look(root, tid)).clone();
        LateWakeup { condition, tid, pid, thread, process, wakeup: wakeup.clone() }
    }
}

fn look(root: &Root, tid: u32) -> Name {
    let comm = |id: u32| root.read(&format!("/proc/{id}/comm")).unwrap_or_default();
    let pid = Status::read(root, tid).process().unwrap_or(0);
    Name { pid, thread: comm(tid), process: if pid == 0 { String::new() } else { comm(pid) } }
}
