//! `/proc/TID/schedstat`, readable without privilege: how often a thread got a CPU, and how long it waited for one.

use std::collections::HashMap;

use howlate_linux::clock;
use howlate_model::MonotonicTime;
use howlate_procfs::{ProcessStat, Root, Schedstat};

/// The schedstat of all threads at the last reading.
#[derive(Debug)]
pub(crate) struct SchedstatReader {
    root: Root,
    readings: HashMap<u32, Reading>,
    limited_waits: u64,
}

/// A thread at the last reading.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    schedstat: Schedstat,
    /// When it was seen asleep: a later wait cannot have begun before.
    asleep_at: Option<MonotonicTime>,
}

impl SchedstatReader {
    /// `None` where the kernel keeps no schedstat, or hides it.
    pub(crate) fn new(root: Root, thread: u32) -> Option<Self> {
        Schedstat::read(&root, thread)?;
        Some(Self { root, readings: HashMap::new(), limited_waits: 0 })
    }

    /// Takes the current values of these threads as their start. Later threads start at 0.
    pub(crate) fn set_start(&mut self, threads: &[u32]) {
        let reading = |tid: &u32| Some((*tid, self.read_thread(*tid, clock::now())?));
        self.readings = threads.iter().filter_map(reading).collect();
    }

    /// Difference since the last reading; `None` if nothing changed.
    pub(crate) fn read(&mut self, tid: u32) -> Option<Schedstat> {
        let before = self.readings.get(&tid).copied().unwrap_or_default();
        let now = self.read_thread(tid, clock::now())?;
        self.readings.insert(tid, now);
        let mut difference = now.schedstat.since(before.schedstat);
        if let Some(asleep_at) = before.asleep_at {
            self.limit_wait(&mut difference, asleep_at, clock::now());
        }
        (difference.timeslices > 0 || !difference.waited.is_zero()).then_some(difference)
    }

    /// A thread that slept at `asleep_at` has waited at most the time since then, less its run time. Schedstat reports more where a thread
    /// that sleeps stayed queued for its lag, and was moved to another CPU (6.12 and later, `sched_delayed`).
    fn limit_wait(&mut self, difference: &mut Schedstat, asleep_at: MonotonicTime, now: MonotonicTime) {
        let longest = now.since(asleep_at).minus(difference.ran);
        if difference.waited > longest {
            difference.waited = longest;
            self.limited_waits += 1;
        }
    }

    /// How often a reported wait was longer than possible.
    pub(crate) const fn limited_waits(&self) -> u64 {
        self.limited_waits
    }

    /// The state is read before the schedstat, so that whatever is added to it later happened after `now`.
    fn read_thread(&self, tid: u32, now: MonotonicTime) -> Option<Reading> {
        let asleep = ProcessStat::read(&self.root, tid).is_some_and(|stat| stat.is_asleep());
        let schedstat = Schedstat::read(&self.root, tid)?;
        Some(Reading { schedstat, asleep_at: asleep.then_some(now) })
    }

    /// A thread has ended: its id may be reused.
    pub(crate) fn forget(&mut self, tid: u32) {
        self.readings.remove(&tid);
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::Span;

    use super::*;

    #[test]
    fn values_before_the_start_are_not_counted() {
        let folder = tempfile::tempdir().unwrap();
        let now = |tid: u32, text: &str| {
            let place = folder.path().join(format!("proc/{tid}"));
            std::fs::create_dir_all(&place).unwrap();
            std::fs::write(place.join("schedstat"), text).unwrap();
        };
        assert!(SchedstatReader::new(Root::at(folder.path()), 7).is_none());
        now(7, "1000 500 7");
        let mut reader = SchedstatReader::new(Root::at(folder.path()), 7).unwrap();
        reader.set_start(&[7, 8]);
        let mut read =
            |tid| reader.read(tid).map(|difference| (difference.timeslices, difference.waited.as_nanos()));
        assert_eq!(read(7), None, "nothing new");
        now(7, "1000 800 9");
        assert_eq!((read(7), read(8)), (Some((2, 300)), None), "one that there is, and none");
        now(8, "1000 10 1");
        assert_eq!(read(8), Some((1, 10)), "all that a thread got that came later");
        reader.forget(7);
        now(7, "1000 20 3");
        assert_eq!(reader.read(7).map(|difference| difference.timeslices), Some(3), "another thread");
    }

    #[test]
    fn a_wait_after_a_sleep_is_limited() {
        let folder = tempfile::tempdir().unwrap();
        let write = |state: char, schedstat: &str| {
            howlate_testing::write_below(folder.path(), "proc/7/schedstat", schedstat);
            let stat = format!("7 (a) {state} 1 7 7 0 -1 4 0 0 0 0 10 20 3 4 20 0 1");
            howlate_testing::write_below(folder.path(), "proc/7/stat", &stat);
        };
        write('S', "1000 500 7");
        let mut reader = SchedstatReader::new(Root::at(folder.path()), 7).unwrap();
        reader.set_start(&[7]);
        // An hour has not passed since.
        write('R', "1000 3600000000500 8");
        let difference = reader.read(7).unwrap();
        assert!(difference.waited < Span::from_secs(3_600) && reader.limited_waits() == 1, "{difference:?}");
        // A thread that was runnable may have waited as long as reported.
        write('S', "1000 7200000000500 9");
        assert_eq!(reader.read(7).unwrap().waited, Span::from_secs(3_600));
        assert_eq!(reader.limited_waits(), 1);
    }
}
