//! Memory that sender and receiver share: their ids, their progress, and the stamps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use howlate_linux::shared_memory::SharedMemory;
use howlate_model::{MonotonicTime, Peers};

/// Words per pair of cache lines, as many processors prefetch the adjacent line.
const LINE_WORDS: usize = 16;
/// Word indices of the receiver's progress: number of stamps, and the most recent message number.
const PROGRESS: usize = 0;
const MOST_RECENT: usize = 1;
/// Each direction has three lines: announced number, futex word, waiting thread.
const DIRECTIONS: usize = LINE_WORDS;
const DIRECTION_WORDS: usize = 3 * LINE_WORDS;
/// Word index of the first stamp.
const ARRIVALS: usize = DIRECTIONS + 2 * DIRECTION_WORDS;

/// The message number that ends the receiver.
pub(crate) const END: u64 = u64::MAX;

/// Number of words needed for `arrivals` stamps.
pub(crate) const fn words_for(arrivals: usize) -> usize {
    ARRIVALS + 2 * arrivals
}

/// One direction: 0 from sender to receiver, 1 for the answer.
#[derive(Clone)]
pub(crate) struct Direction {
    pub(crate) memory: Arc<SharedMemory>,
    pub(crate) number: usize,
    pub(crate) between: Peers,
}

impl Direction {
    /// Whether the ends are in two processes.
    pub(crate) fn crosses_processes(&self) -> bool {
        self.between == Peers::Processes
    }

    fn line(&self, line: usize) -> usize {
        DIRECTIONS + self.number * DIRECTION_WORDS + line * LINE_WORDS
    }

    /// The number of the next message, for mechanisms that do not carry one.
    #[inline]
    pub(crate) fn announced(&self) -> &AtomicU64 {
        &self.memory.words()[self.line(0)]
    }

    /// Announces the next message, before the sender's stamp: the fence drains the store
    /// buffer, so that the notification itself does not wait for it.
    #[inline]
    pub(crate) fn announce(&self, number: u64) {
        self.announced().store(number, Ordering::Release);
        fence(Ordering::SeqCst);
    }

    /// Index of the word that futexes wait on; see [`SharedMemory::half_word`].
    pub(crate) fn futex_index(&self) -> usize {
        self.line(1)
    }

    /// The word that futexes wait on.
    #[inline]
    pub(crate) fn futex(&self) -> &AtomicU32 {
        self.memory.half_word(self.futex_index())
    }

    /// Registers the calling thread as the receiver of this direction.
    pub(crate) fn register(&self) {
        let ids = u64::from(std::process::id()) << 32 | u64::from(howlate_linux::thread::id());
        self.memory.words()[self.line(2)].store(ids, Ordering::Release);
    }

    /// Process id and thread id of the receiver of this direction.
    #[allow(clippy::cast_possible_truncation, reason = "two halves of a word")]
    pub(crate) fn registered(&self) -> (u32, u32) {
        let ids = self.memory.words()[self.line(2)].load(Ordering::Acquire);
        ((ids >> 32) as u32, ids as u32)
    }
}

/// The receiver's stamps, written by it and read by sender and observer.
#[derive(Clone)]
pub(crate) struct Arrivals {
    memory: Arc<SharedMemory>,
}

impl Arrivals {
    pub(crate) const fn new(memory: Arc<SharedMemory>) -> Self {
        Self { memory }
    }

    /// Writes to all memory for stamps, so that the loop has no page faults. Each process has to do so, as page tables are not
    /// shared.
    pub(crate) fn touch(&self) {
        self.memory.words()[ARRIVALS..].iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }

    /// Maximum number of stamps.
    pub(crate) fn capacity(&self) -> usize {
        (self.memory.words().len() - ARRIVALS) / 2
    }

    /// Stores stamp `index`: message `number` arrived at `ran`. `false` if the memory is full.
    #[inline]
    pub(crate) fn store(&self, index: usize, number: u64, ran: MonotonicTime) -> bool {
        let words = self.memory.words();
        let at = ARRIVALS + 2 * index;
        let Some([number_word, ran_word]) = words.get(at..at + 2) else { return false };
        number_word.store(number, Ordering::Relaxed);
        ran_word.store(ran.as_nanos().cast_unsigned(), Ordering::Relaxed);
        words[PROGRESS].store(index as u64 + 1, Ordering::Release);
        words[MOST_RECENT].store(number, Ordering::Release);
        true
    }

    /// The number of the most recent message.
    #[inline]
    pub(crate) fn most_recent(&self) -> u64 {
        self.memory.words()[MOST_RECENT].load(Ordering::Acquire)
    }

    /// Number of stamps.
    pub(crate) fn count(&self) -> usize {
        usize::try_from(self.memory.words()[PROGRESS].load(Ordering::Acquire))
            .unwrap_or(0)
            .min(self.capacity())
    }

    /// Stamp `index`, below [`Arrivals::count`].
    pub(crate) fn get(&self, index: usize) -> (u64, MonotonicTime) {
        let word = |at: usize| self.memory.words()[ARRIVALS + 2 * index + at].load(Ordering::Relaxed);
        (word(0), MonotonicTime::from_nanos(word(1).cast_signed()))
    }
}
