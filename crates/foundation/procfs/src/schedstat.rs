//! `/proc/PID/schedstat`: a thread's time running and waiting for a CPU.

use std::fs::File;
use std::os::unix::fs::FileExt;

use howlate_model::Span;

use crate::Root;

/// One thread's times since it started.
///
/// Source: `Documentation/scheduler/sched-stats.rst`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schedstat {
    /// Time running on a CPU.
    pub ran: Span,
    /// Time runnable but waiting for a CPU.
    pub waited: Span,
    /// Timeslices: how often it got a CPU.
    pub timeslices: u64,
}

impl Schedstat {
    /// `None` when the thread has ended, or without `CONFIG_SCHED_INFO`.
    pub fn read(root: &Root, tid: u32) -> Option<Self> {
        Self::parse(&root.read(&format!("/proc/{tid}/schedstat")).ok()?)
    }

    /// Nanoseconds run, nanoseconds waited, timeslices.
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split_whitespace().map(|number| number.parse::<u64>().ok());
        let (ran, waited) = (numbers.next()??, numbers.next()??);
        let timeslices = numbers.next().flatten().unwrap_or(0);
        Some(Self { ran: Span::from_nanos(ran), waited: Span::from_nanos(waited), timeslices })
    }

    /// Difference from `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            ran: self.ran.minus(earlier.ran),
            waited: self.waited.minus(earlier.waited),
            timeslices: self.timeslices.saturating_sub(earlier.timeslices),
        }
    }
}

/// The calling thread's file, kept open so that reading it costs one call and allocates nothing.
#[derive(Debug)]
pub struct OwnSchedstat(File);

impl OwnSchedstat {
    pub fn open(root: &Root) -> Option<Self> {
        root.open("/proc/thread-self/schedstat").ok().map(Self)
    }

    /// Time waited for a CPU since the thread started.
    pub fn waited(&self) -> Option<Span> {
        let mut text = [0; 64];
        let length = self.0.read_at(&mut text, 0).ok()?;
        Some(Schedstat::parse(str::from_utf8(&text[..length]).ok()?)?.waited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_is_the_difference_of_two_readings() {
        let (before, after) = (Schedstat::parse("1000 200 7\n"), Schedstat::parse("4000 250 9\n"));
        let difference =
            Schedstat { ran: Span::from_nanos(3_000), waited: Span::from_nanos(50), timeslices: 2 };
        assert_eq!(after.unwrap().since(before.unwrap()), difference);
        assert_eq!(Schedstat::parse("1000"), None);
    }
    #[test]
    fn an_open_file_is_read_anew() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("proc/thread-self");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("schedstat"), "1000 200 7\n").unwrap();
        let own = OwnSchedstat::open(&Root::at(directory.path())).unwrap();
        assert_eq!(own.waited(), Some(Span::from_nanos(200)));
        std::fs::write(folder.join("schedstat"), "1000 250 8\n").unwrap();
        assert_eq!(own.waited(), Some(Span::from_nanos(250)));
        assert!(OwnSchedstat::open(&Root::at("/none")).is_none());
    }
}
