//! What the kernel tells everybody of each thread of theirs: how often it got a CPU, and how long it waited for one.

use std::collections::HashMap;

use howlate_procfs::{Root, Schedstat};

/// The accounts of all threads, as they were when they were last read.
#[derive(Debug)]
pub(crate) struct Accounts {
    root: Root,
    known: HashMap<u32, Schedstat>,
}

impl Accounts {
    /// Nothing is known yet. `None` where the kernel keeps no accounts, or does not tell.
    pub(crate) fn new(root: Root, thread: u32) -> Option<Self> {
        Schedstat::read(&root, thread)?;
        Some(Self { root, known: HashMap::new() })
    }

    /// What these threads got so far was before anybody watched. Those that come later begin with nothing.
    pub(crate) fn begin(&mut self, threads: &[u32]) {
        let account = |tid: &u32| Some((*tid, Schedstat::read(&self.root, *tid)?));
        self.known = threads.iter().filter_map(account).collect();
    }

    /// What a thread got since the last reading; `None` where that is nothing.
    pub(crate) fn read(&mut self, tid: u32) -> Option<Schedstat> {
        let now = Schedstat::read(&self.root, tid)?;
        let got = now.since(self.known.insert(tid, now).unwrap_or_default());
        (got.turns > 0 || !got.waited.is_zero()).then_some(got)
    }

    /// A thread has ended: its number will be another's.
    pub(crate) fn forget(&mut self, tid: u32) {
        self.known.remove(&tid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_got_before_anybody_watched_is_not_counted() {
        let folder = tempfile::tempdir().unwrap();
        let now = |tid: u32, text: &str| {
            let place = folder.path().join(format!("proc/{tid}"));
            std::fs::create_dir_all(&place).unwrap();
            std::fs::write(place.join("schedstat"), text).unwrap();
        };
        assert!(Accounts::new(Root::at(folder.path()), 7).is_none());
        now(7, "1000 500 7");
        let mut accounts = Accounts::new(Root::at(folder.path()), 7).unwrap();
        accounts.begin(&[7, 8]);
        let mut got = |tid| accounts.read(tid).map(|got| (got.turns, got.waited.as_nanos()));
        assert_eq!(got(7), None, "nothing new");
        now(7, "1000 800 9");
        assert_eq!((got(7), got(8)), (Some((2, 300)), None), "one that there is, and none");
        now(8, "1000 10 1");
        assert_eq!(got(8), Some((1, 10)), "all that a thread got that came later");
        accounts.forget(7);
        now(7, "1000 20 3");
        assert_eq!(accounts.read(7).map(|got| got.turns), Some(3), "another thread");
    }
}
