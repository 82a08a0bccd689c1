//! What sender and receiver share: who they are, how far they have come, and the stamps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use howlate_linux::shared_memory::SharedMemory;
use howlate_model::{MonotonicTime, Peers};

/// Words of a cache line, and of the next one, which many processors fetch with it.
const LINE: usize = 16;
/// Where the receiver says how far it has come: stamps stored, then the most recent number.
const PROGRESS: usize = 0;
const MOST_RECENT: usize = 1;
/// Each direction has three lines: announced number, futex word, the one that waits.
const DIRECTIONS: usize = LINE;
const DIRECTION_WORDS: usize = 3 * LINE;
/// Where the stamps begin.
const ARRIVALS: usize = DIRECTIONS + 2 * DIRECTION_WORDS;

/// The number that tells a receiver to leave.
pub(crate) const END: u64 = u64::MAX;

/// Words of memory that hold everything, with `arrivals` stamps.
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
        DIRECTIONS + self.number * DIRECTION_WORDS + line * LINE
    }

    /// The number of the message that is about to be sent, for mechanisms that carry none.
    #[inline]
    pub(crate) fn announced(&self) -> &AtomicU64 {
        &self.memory.words()[self.line(0)]
    }

    /// Says which message comes next, before the sender's stamp: the fence empties the store
    /// buffer, so that the notification itself need not wait for it.
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

    /// Notes that the calling thread waits at the end of this direction.
    pub(crate) fn register(&self) {
        let who = u64::from(std::process::id()) << 32 | u64::from(howlate_linux::thread::id());
        self.memory.words()[self.line(2)].store(who, Ordering::Release);
    }

    /// Process and thread that wait at the end of this direction.
    #[allow(clippy::cast_possible_truncation, reason = "two halves of a word")]
    pub(crate) fn registered(&self) -> (u32, u32) {
        let who = self.memory.words()[self.line(2)].load(Ordering::Acquire);
        ((who >> 32) as u32, who as u32)
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

    /// Writes to all memory where stamps will be stored, so that no page fault falls into the loop. Reading it would not do:
    /// each process meets the pages of shared memory for itself.
    pub(crate) fn touch(&self) {
        self.memory.words()[ARRIVALS..].iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }

    /// How many stamps there is room for.
    pub(crate) fn capacity(&self) -> usize {
        (self.memory.words().len() - ARRIVALS) / 2
    }

    /// Stores stamp number `place`: message `number` arrived at `ran`. Returns whether there was room.
    #[inline]
    pub(crate) fn store(&self, place: usize, number: u64, ran: MonotonicTime) -> bool {
        let words = self.memory.words();
        let at = ARRIVALS + 2 * place;
        let Some([number_word, ran_word]) = words.get(at..at + 2) else { return false };
        number_word.store(number, Ordering::Relaxed);
        ran_word.store(ran.as_nanos().cast_unsigned(), Ordering::Relaxed);
        words[PROGRESS].store(place as u64 + 1, Ordering::Release);
        words[MOST_RECENT].store(number, Ordering::Release);
        true
    }

    /// The number of the message that arrived last.
    #[inline]
    pub(crate) fn most_recent(&self) -> u64 {
        self.memory.words()[MOST_RECENT].load(Ordering::Acquire)
    }

    /// How many stamps are stored.
    pub(crate) fn count(&self) -> usize {
        usize::try_from(self.memory.words()[PROGRESS].load(Ordering::Acquire))
            .unwrap_or(0)
            .min(self.capacity())
    }

    /// Stamp number `place`, below [`Arrivals::count`].
    pub(crate) fn get(&self, place: usize) -> (u64, MonotonicTime) {
        let word = |at: usize| self.memory.words()[ARRIVALS + 2 * place + at].load(Ordering::Relaxed);
        (word(0), MonotonicTime::from_nanos(word(1).cast_signed()))
    }
}
