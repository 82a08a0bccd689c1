//! Shared memory in which a helper and its workers report progress to the parent.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use howlate_linux::shared_memory::SharedMemory;
use howlate_model::{MonotonicTime, Span};
use rustix::io::Errno;
use rustix::thread::futex;

/// Words per cache line, so that no two workers write to the same line.
const LINE_WORDS: usize = 8;
/// Word indices in the first line.
const STARTED: usize = 0;
const ENDED: usize = 1;
const GATE: usize = 2;
const CPU: usize = 3;
const WINDOW: usize = 4;

/// The shared memory of one part: a line for the helper, and one for each counter.
pub(crate) struct Scoreboard(SharedMemory);

impl Scoreboard {
    /// Memory for `counters`, and the file to share it by.
    pub(crate) fn create(counters: usize) -> io::Result<(Self, OwnedFd)> {
        let (memory, file) = SharedMemory::create(LINE_WORDS * (counters + 1))?;
        Ok((Self(memory), file))
    }

    pub(crate) fn open(file: impl AsFd) -> io::Result<Self> {
        SharedMemory::open(file).map(Self)
    }

    /// Releases the workers, which start at `now`.
    pub(crate) fn start(&self, now: MonotonicTime) {
        self.set_time(STARTED, now);
        let gate = self.0.half_word(GATE);
        gate.store(1, Ordering::Release);
        // Fails only for memory that is not mapped.
        let _ = futex::wake(gate, futex::Flags::empty(), u32::MAX >> 1);
    }

    /// Waits until [`start`](Self::start).
    pub(crate) fn wait_for_start(&self) -> io::Result<()> {
        let gate = self.0.half_word(GATE);
        while gate.load(Ordering::Acquire) == 0 {
            match futex::wait(gate, futex::Flags::empty(), 0, None) {
                Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Records that a worker was done at `now`; the latest counts.
    pub(crate) fn end(&self, now: MonotonicTime) {
        self.0.words()[ENDED].fetch_max(now.as_nanos().unsigned_abs(), Ordering::AcqRel);
    }

    /// When the workers started; `None` before that.
    pub(crate) fn started_at(&self) -> Option<MonotonicTime> {
        self.time(STARTED)
    }

    /// Time from the start until the last worker so far was done; `None` while none is.
    pub(crate) fn completion_time(&self) -> Option<Span> {
        Some(self.time(ENDED)?.since(self.started_at()?))
    }

    /// Records the CPU time of the helper and all its descendants at its end.
    pub(crate) fn set_cpu_time(&self, cpu: Span) {
        self.0.words()[CPU].store(cpu.as_nanos(), Ordering::Release);
    }

    /// `None` before the end.
    pub(crate) fn cpu_time(&self) -> Option<Span> {
        Some(Span::from_nanos(self.0.words()[CPU].load(Ordering::Acquire))).filter(|cpu| !cpu.is_zero())
    }

    /// Sets how long workers work in each cycle.
    pub(crate) fn set_window(&self, window: Span) {
        self.0.words()[WINDOW].store(window.as_nanos(), Ordering::Relaxed);
    }

    /// How long workers work in each cycle; `None`: all of it.
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

    pub(crate) fn counter(&self, number: usize) -> OperationCounter<'_> {
        OperationCounter(&self.0.words()[LINE_WORDS * (number + 1)])
    }

    /// Sum of all counters.
    pub(crate) fn operations(&self) -> u64 {
        self.counts().sum()
    }

    /// Whether every worker has counted something.
    pub(crate) fn all_have_counted(&self) -> bool {
        self.counts().all(|count| count > 0)
    }

    fn counts(&self) -> impl Iterator<Item = u64> {
        let counters = self.0.words().iter().skip(LINE_WORDS).step_by(LINE_WORDS);
        counters.map(|counter| counter.load(Ordering::Relaxed))
    }
}

/// Operations of one worker. Only that worker writes it.
#[derive(Clone, Copy)]
pub(crate) struct OperationCounter<'a>(&'a AtomicU64);

impl OperationCounter<'_> {
    #[inline]
    pub(crate) fn add(self, operations: u64) {
        self.0.store(self.0.load(Ordering::Relaxed) + operations, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_reads_the_counts_of_workers() {
        let (parent, file) = Scoreboard::create(3).unwrap();
        let helper = Scoreboard::open(&file).unwrap();
        assert_eq!((parent.started_at(), parent.completion_time(), parent.operations()), (None, None, 0));
        helper.start(MonotonicTime::from_nanos(5));
        helper.counter(0).add(2);
        helper.counter(2).add(39);
        helper.counter(2).add(1);
        assert!(!parent.all_have_counted());
        helper.counter(1).add(1);
        assert!(parent.all_have_counted());
        helper.set_window(Span::from_millis(3));
        assert_eq!(parent.window(), Some(Span::from_millis(3)));
        helper.end(MonotonicTime::from_nanos(12));
        helper.end(MonotonicTime::from_nanos(9));
        assert_eq!(parent.operations(), 43);
        assert_eq!(parent.completion_time(), Some(Span::from_nanos(7)));
    }
}
