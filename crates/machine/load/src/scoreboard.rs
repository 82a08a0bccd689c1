//! Memory in which a helper and its workers tell the parent how far they are.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use howlate_linux::shared_memory::SharedMemory;
use howlate_model::{MonotonicTime, Span};
use rustix::io::Errno;
use rustix::thread::futex;

/// Words of one cache line, so that no two workers write to the same.
const LINE: usize = 8;
/// Words of the first line.
const BEGAN: usize = 0;
const ENDED: usize = 1;
const GATE: usize = 2;
const CPU: usize = 3;
const WINDOW: usize = 4;

/// The shared memory of one part: a line for the helper, and one for each counter.
pub(crate) struct Scoreboard(SharedMemory);

impl Scoreboard {
    /// Room for `counters`, and the file to share it by.
    pub(crate) fn create(counters: usize) -> io::Result<(Self, OwnedFd)> {
        let (memory, file) = SharedMemory::create(LINE * (counters + 1))?;
        Ok((Self(memory), file))
    }

    /// The scoreboard behind `file`.
    pub(crate) fn open(file: impl AsFd) -> io::Result<Self> {
        SharedMemory::open(file).map(Self)
    }

    /// Says that the workers begin now.
    pub(crate) fn begin(&self, now: MonotonicTime) {
        self.set_time(BEGAN, now);
        let gate = self.0.half_word(GATE);
        gate.store(1, Ordering::Release);
        // The memory is mapped, which is all that this can fail for.
        let _ = futex::wake(gate, futex::Flags::empty(), u32::MAX >> 1);
    }

    /// Waits until the workers are to begin.
    pub(crate) fn wait_for_begin(&self) -> io::Result<()> {
        let gate = self.0.half_word(GATE);
        while gate.load(Ordering::Acquire) == 0 {
            match futex::wait(gate, futex::Flags::empty(), 0, None) {
                Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Says that a worker was done at `now`; the last one counts.
    pub(crate) fn end(&self, now: MonotonicTime) {
        self.0.words()[ENDED].fetch_max(now.as_nanos().unsigned_abs(), Ordering::AcqRel);
    }

    /// When the workers began; `None` before that.
    pub(crate) fn began(&self) -> Option<MonotonicTime> {
        self.time(BEGAN)
    }

    /// How long they took until the last was done, when all are; `None` when none is.
    pub(crate) fn took(&self) -> Option<Span> {
        Some(self.time(ENDED)?.since(self.began()?))
    }

    /// Says how much CPU time the helper and all that it started got, at its end.
    pub(crate) fn set_cpu_time(&self, cpu: Span) {
        self.0.words()[CPU].store(cpu.as_nanos(), Ordering::Release);
    }

    /// That CPU time; `None` before the end.
    pub(crate) fn cpu_time(&self) -> Option<Span> {
        Some(Span::from_nanos(self.0.words()[CPU].load(Ordering::Acquire))).filter(|cpu| !cpu.is_zero())
    }

    /// Says how long workers work in each cycle.
    pub(crate) fn set_window(&self, window: Span) {
        self.0.words()[WINDOW].store(window.as_nanos(), Ordering::Relaxed);
    }

    /// How long workers work in each cycle; `None`: all the time.
    #[inline]
    pub(crate) fn window(&self) -> Option<Span> {
        let nanos = self.0.words()[WINDOW].load(Ordering::Relaxed);
        (nanos > 0).then(|| Span::from_nanos(nanos))
    }

    fn set_time(&self, word: usize, time: MonotonicTime) {
        self.0.words()[word].store(time.as_nanos().unsigned_abs(), Ordering::Release);
    }

    fn time(&self, word: usize) -> Option<MonotonicTime> {
        let nanos = self.0.words()[word].load(Ordering::Acquire);
        i64::try_from(nanos).ok().filter(|nanos| *nanos > 0).map(MonotonicTime::from_nanos)
    }

    /// The counter of worker `number`.
    pub(crate) fn counter(&self, number: usize) -> Counter<'_> {
        Counter(&self.0.words()[LINE * (number + 1)])
    }

    /// All counters together.
    pub(crate) fn operations(&self) -> u64 {
        self.counts().sum()
    }

    /// Whether every worker has counted something.
    pub(crate) fn all_have_counted(&self) -> bool {
        self.counts().all(|count| count > 0)
    }

    fn counts(&self) -> impl Iterator<Item = u64> {
        let counters = self.0.words().iter().skip(LINE).step_by(LINE);
        counters.map(|counter| counter.load(Ordering::Relaxed))
    }
}

/// What one worker has done. Only that worker writes it.
#[derive(Clone, Copy)]
pub(crate) struct Counter<'a>(&'a AtomicU64);

impl Counter<'_> {
    /// Counts `operations` more.
    #[inline]
    pub(crate) fn add(self, operations: u64) {
        self.0.store(self.0.load(Ordering::Relaxed) + operations, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_workers_count_the_parent_reads() {
        let (ours, file) = Scoreboard::create(3).unwrap();
        let theirs = Scoreboard::open(&file).unwrap();
        assert_eq!((ours.began(), ours.took(), ours.operations()), (None, None, 0));
        theirs.begin(MonotonicTime::from_nanos(5));
        theirs.counter(0).add(2);
        theirs.counter(2).add(39);
        theirs.counter(2).add(1);
        assert!(!ours.all_have_counted());
        theirs.counter(1).add(1);
        assert!(ours.all_have_counted());
        theirs.set_window(Span::from_millis(3));
        assert_eq!(ours.window(), Some(Span::from_millis(3)));
        theirs.end(MonotonicTime::from_nanos(12));
        theirs.end(MonotonicTime::from_nanos(9));
        assert_eq!(ours.operations(), 43);
        assert_eq!(ours.took(), Some(Span::from_nanos(7)));
    }
}
