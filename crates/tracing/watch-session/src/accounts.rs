//! What the kernel tells everybody of each thread of theirs: how often it got a CPU, and how long it waited for one.

use std::collections::HashMap;

use howlate_linux::clock;
use howlate_model::MonotonicTime;
use howlate_procfs::{ProcessStat, Root, Schedstat};

/// The accounts of all threads, as they were when they were last read.
#[derive(Debug)]
pub(crate) struct Accounts {
    root: Root,
    known: HashMap<u32, Known>,
    bounded: u64,
}

/// A thread as it was when it was last looked at.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    account: Schedstat,
    /// When, where it slept then: what it waits for later cannot have begun before.
    asleep_at: Option<MonotonicTime>,
}

impl Accounts {
    /// Nothing is known yet. `None` where the kernel keeps no accounts, or does not tell.
    pub(crate) fn new(root: Root, thread: u32) -> Option<Self> {
        Schedstat::read(&root, thread)?;
        Some(Self { root, known: HashMap::new(), bounded: 0 })
    }

    /// What these threads got so far was before anybody watched. Those that come later begin with nothing.
    pub(crate) fn begin(&mut self, threads: &[u32]) {
        let known = |tid: &u32| Some((*tid, self.look(*tid, clock::now())?));
        self.known = threads.iter().filter_map(known).collect();
    }

    /// What a thread got since the last reading; `None` where that is nothing.
    pub(crate) fn read(&mut self, tid: u32) -> Option<Schedstat> {
        let before = self.known.get(&tid).copied().unwrap_or_default();
        let now = self.look(tid, clock::now())?;
        self.known.insert(tid, now);
        let mut got = now.account.since(before.account);
        if let Some(asleep_at) = before.asleep_at {
            self.bound(&mut got, asleep_at, clock::now());
        }
        (got.turns > 0 || !got.waited.is_zero()).then_some(got)
    }

    /// One that slept at a time was no longer ready since than has passed, less what it ran. The account says more where the
    /// thread slept on, kept queued for its debt, and was moved to another CPU (6.12 and later, `sched_delayed`).
    fn bound(&mut self, got: &mut Schedstat, asleep_at: MonotonicTime, now: MonotonicTime) {
        let most = now.since(asleep_at).minus(got.ran);
        if got.waited > most {
            got.waited = most;
            self.bounded += 1;
        }
    }

    /// How often an account had grown by more than its thread can have waited.
    pub(crate) const fn bounded(&self) -> u64 {
        self.bounded
    }

    /// The state before the account, so that all that is added to the account later came after `now`.
    fn look(&self, tid: u32, now: MonotonicTime) -> Option<Known> {
        let asleep = ProcessStat::read(&self.root, tid).is_some_and(|stat| stat.is_asleep());
        let account = Schedstat::read(&self.root, tid)?;
        Some(Known { account, asleep_at: asleep.then_some(now) })
    }

    /// A thread has ended: its number will be another's.
    pub(crate) fn forget(&mut self, tid: u32) {
        self.known.remove(&tid);
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::Span;

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

    #[test]
    fn one_that_slept_at_the_last_look_has_not_waited_longer_than_since() {
        let folder = tempfile::tempdir().unwrap();
        let now = |state: char, account: &str| {
            howlate_testing::write_below(folder.path(), "proc/7/schedstat", account);
            let stat = format!("7 (a) {state} 1 7 7 0 -1 4 0 0 0 0 10 20 3 4 20 0 1");
            howlate_testing::write_below(folder.path(), "proc/7/stat", &stat);
        };
        now('S', "1000 500 7");
        let mut accounts = Accounts::new(Root::at(folder.path()), 7).unwrap();
        accounts.begin(&[7]);
        // An hour has not passed since.
        now('R', "1000 3600000000500 8");
        let got = accounts.read(7).unwrap();
        assert!(got.waited < Span::from_secs(3_600) && accounts.bounded() == 1, "{got:?}");
        // One that was ready may have waited for as long as its account says.
        now('S', "1000 7200000000500 9");
        assert_eq!(accounts.read(7).unwrap().waited, Span::from_secs(3_600));
        assert_eq!(accounts.bounded(), 1);
    }
}
