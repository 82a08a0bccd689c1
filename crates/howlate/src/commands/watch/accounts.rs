//! What the kernel tells everybody of each thread of theirs: how often it got a CPU, and how long it waited for one.

use std::collections::HashMap;

use howlate_procfs::{Root, Schedstat};

/// The accounts of all threads, as they were when they were last read.
#[derive(Debug)]
pub(super) struct Accounts {
    root: Root,
    known: HashMap<u32, Schedstat>,
}

impl Accounts {
    /// Nothing is known yet. `None` where the kernel keeps no accounts, or does not tell.
    pub(super) fn of(root: Root, thread: u32) -> Option<Self> {
        Schedstat::read(&root, thread)?;
        Some(Self { root, known: HashMap::new() })
    }

    /// What a thread got since the last reading; `None` at the first one, and where it got nothing.
    pub(super) fn read(&mut self, tid: u32) -> Option<Schedstat> {
        let now = Schedstat::read(&self.root, tid)?;
        let got = now.since(self.known.insert(tid, now)?);
        (got.turns > 0 || !got.waited.is_zero()).then_some(got)
    }

    /// A thread has ended: its number will be another's.
    pub(super) fn forget(&mut self, tid: u32) {
        self.known.remove(&tid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_got_begins_with_the_second_reading() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("proc/7");
        std::fs::create_dir_all(&place).unwrap();
        let now = |text: &str| std::fs::write(place.join("schedstat"), text).unwrap();
        assert!(Accounts::of(Root::at(folder.path()), 7).is_none());
        now("1000 500 7");
        let mut accounts = Accounts::of(Root::at(folder.path()), 7).unwrap();
        assert_eq!(accounts.read(7), None);
        now("1000 800 9");
        let got = accounts.read(7).map(|got| (got.turns, got.waited.as_nanos()));
        assert_eq!(got, Some((2, 300)));
        assert_eq!(accounts.read(7), None, "nothing new");
        accounts.forget(7);
        now("1000 10 1");
        assert_eq!((accounts.read(7), accounts.read(8)), (None, None), "another thread, and none");
    }
}
