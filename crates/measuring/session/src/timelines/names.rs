//! What threads are called, looked up once for each while a timeline is under way.

use std::collections::HashMap;

use howlate_model::{LateWakeup, WakeupBreakdown};
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
    /// What threads were called when they were met: by the time that the last of them is told, they may have ended.
    met: HashMap<u32, Name>,
}

impl Names {
    pub(super) fn below(root: Root) -> Self {
        Self { root, known: HashMap::new(), met: HashMap::new() }
    }

    /// Threads may be called otherwise from now on.
    pub(super) fn forget(&mut self) {
        self.known.clear();
    }

    /// There is such a thread: of this process and of that name, or as can be looked up now.
    pub(super) fn meet(&mut self, tid: u32, called: Option<(u32, &str)>) {
        let known = self.met.get(&tid).zip(called);
        if known.is_some_and(|(known, (pid, thread))| known.pid == pid && known.thread == thread) {
            return;
        }
        if self.met.len() >= REMEMBERED {
            self.met.clear();
        }
        let name = called.map_or_else(
            || look(&self.root, tid),
            |(pid, thread)| Name { pid, thread: thread.to_owned(), process: comm(&self.root, pid) },
        );
        self.met.insert(tid, name);
    }

    /// A wake-up with its thread's names, as far as that is there.
    pub(super) fn name(&mut self, condition: u32, tid: u32, wakeup: &WakeupBreakdown) -> LateWakeup {
        if self.known.len() >= REMEMBERED {
            self.forget();
        }
        let Self { root, known, met } = self;
        let found = known.entry(tid).or_insert_with(|| look(root, tid));
        let name = if found.thread.is_empty() { met.get(&tid).unwrap_or(found) } else { found };
        let Name { pid, thread, process } = name.clone();
        LateWakeup { condition, tid, pid, thread, process, wakeup: wakeup.clone() }
    }
}

fn look(root: &Root, tid: u32) -> Name {
    let pid = Status::read(root, tid).process().unwrap_or(0);
    Name { pid, thread: comm(root, tid), process: comm(root, pid) }
}

/// What a thread or process is called; nothing where there is none.
fn comm(root: &Root, id: u32) -> String {
    root.read(&format!("/proc/{id}/comm")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::window::testing::late;
    use super::*;

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
        let mut names = Names::below(Root::at(folder.path()));
        names.meet(7, None);
        names.meet(8, Some((6, "short")));
        fs::remove_dir_all(folder.path().join("proc/7")).unwrap();
        names.forget();
        let mut name = |tid| {
            let one = names.name(0, tid, &late(1, 1).wakeup);
            (one.thread, one.pid, one.process)
        };
        assert_eq!(name(6), ("server".into(), 6, "server".into()));
        assert_eq!(name(7), ("worker".into(), 6, "server".into()));
        assert_eq!(name(8), ("short".into(), 6, "server".into()));
        assert_eq!(name(9), (String::new(), 0, String::new()));
    }
}
