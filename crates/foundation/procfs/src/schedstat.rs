//! `/proc/PID/schedstat`: what a thread got of its CPU.

use std::fs::File;
use std::os::unix::fs::FileExt;

use howlate_model::Span;

use crate::Root;

/// One thread's times since it began.
///
/// Source: `Documentation/scheduler/sched-stats.rst`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schedstat {
    /// Running on a CPU.
    pub ran: Span,
    /// Ready to run, and waiting for a CPU.
    pub waited: Span,
    /// Times that it got a CPU.
    pub turns: u64,
}

impl Schedstat {
    /// Reads those of a thread; `None` when it is gone, or the kernel keeps none.
    pub fn read(root: &Root, tid: u32) -> Option<Self> {
        Self::parse(&root.read(&format!("/proc/{tid}/schedstat")).ok()?)
    }

    /// Nanoseconds run, nanoseconds waited, turns.
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split_whitespace().map(|number| number.parse::<u64>().ok());
        let (ran, waited) = (numbers.next()??, numbers.next()??);
        let turns = numbers.next().flatten().unwrap_or(0);
        Some(Self { ran: Span::from_nanos(ran), waited: Span::from_nanos(waited), turns })
    }

    /// What was added since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            ran: self.ran.minus(earlier.ran),
            waited: self.waited.minus(earlier.waited),
            turns: self.turns.saturating_sub(earlier.turns),
        }
    }
}

/// The calling thread's own account, kept open so that reading it costs one call and allocates nothing.
#[derive(Debug)]
pub struct OwnSchedstat(File);

impl OwnSchedstat {
    /// Opens it; `None` where the kernel keeps none.
    pub fn open(root: &Root) -> Option<Self> {
        root.open("/proc/thread-self/schedstat").ok().map(Self)
    }

    /// How long the thread has waited for a CPU since it began.
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
    fn what_a_thread_got_is_the_difference_of_two_readings() {
        let (before, after) = (Schedstat::parse("1000 200 7\n"), Schedstat::parse("4000 250 9\n"));
        let got = Schedstat { ran: Span::from_nanos(3_000), waited: Span::from_nanos(50), turns: 2 };
        assert_eq!(after.unwrap().since(before.unwrap()), got);
        assert_eq!(Schedstat::parse("1000"), None);
    }
    #[test]
    fn an_account_that_is_kept_open_is_read_anew() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("proc/thread-self");
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(place.join("schedstat"), "1000 200 7\n").unwrap();
        let own = OwnSchedstat::open(&Root::at(directory.path())).unwrap();
        assert_eq!(own.waited(), Some(Span::from_nanos(200)));
        std::fs::write(place.join("schedstat"), "1000 250 8\n").unwrap();
        assert_eq!(own.waited(), Some(Span::from_nanos(250)));
        assert!(OwnSchedstat::open(&Root::at("/none")).is_none());
    }
}
