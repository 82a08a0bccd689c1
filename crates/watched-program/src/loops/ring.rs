//! howlate's end of a ring.

use std::sync::atomic::{AtomicU64, Ordering};

use howlate_model::{LoopTurn, MonotonicTime, Span};

use super::Marked;
use super::layout::{CAPACITY, CLOCK, LOST, NAME, PERIOD, READ, THREAD, TURN, TURNS, WRITTEN, ring};
use super::moments::Moments;

/// No loop is expected further away from its turn.
const AWAY: Span = Span::from_secs(3_600);

/// A ring, and how far it was read.
pub(super) struct Ring {
    number: usize,
    of: Option<Marked>,
    read: u64,
    /// How far it was written when last looked at.
    written: u64,
    /// What the program says that it lost, when it was last asked.
    lost: u64,
    last: Option<MonotonicTime>,
}

impl Ring {
    pub(super) const fn new(number: usize) -> Self {
        Self { number, of: None, read: 0, written: 0, lost: 0, last: None }
    }

    /// Looks how far it is written. What is read after lies before whatever time it is then.
    pub(super) fn look(&mut self, memory: &[AtomicU64]) {
        self.written = memory[ring(self.number)][WRITTEN].load(Ordering::Acquire);
    }

    /// Hands on the turns that had come when it was last looked; returns how many were lost, or were none.
    pub(super) fn read(
        &mut self,
        memory: &[AtomicU64],
        moments: &Moments,
        take: &mut dyn FnMut(usize, &Marked, LoopTurn),
    ) -> u64 {
        let words = &memory[ring(self.number)];
        let Some(of) = self.of.take().or_else(|| marked(words)) else { return 0 };
        let number = self.number;
        let lost = self.turns(words, moments, &mut |turn| take(number, &of, turn));
        self.of = Some(of);
        lost.saturating_add(self.newly_lost(words))
    }

    fn turns(&mut self, words: &[AtomicU64], moments: &Moments, take: &mut dyn FnMut(LoopTurn)) -> u64 {
        let written = self.written;
        let waiting = written.wrapping_sub(self.read);
        // Who keeps to the rules never writes more than fits.
        let (first, mut lost) = if waiting > CAPACITY { (written, 1) } else { (self.read, 0) };
        for number in (0..written.wrapping_sub(first)).map(|past| first.wrapping_add(past)) {
            match self.turn(words, moments, number) {
                Some(turn) => take(turn),
                None => lost += 1,
            }
        }
        self.read = written;
        words[READ].store(written, Ordering::Release);
        lost
    }

    /// A turn, if it can have been one: not before the end of the one before, which a loop that waits for nothing begins at in the same
    /// nanosecond; done after it began; and neither of them yet to come.
    fn turn(&mut self, words: &[AtomicU64], moments: &Moments, number: u64) -> Option<LoopTurn> {
        let place = TURNS + usize::try_from(number % CAPACITY).ok()? * TURN;
        let [expected, woke, done] = [0, 1, 2].map(|word| words[place + word].load(Ordering::Relaxed));
        let by_clock = words[CLOCK].load(Ordering::Relaxed) != 0;
        let when = |time| if by_clock { moments.when_read(time) } else { moments.when(time) };
        let woke = when(woke).filter(|woke| self.last.is_none_or(|last| last <= *woke))?;
        let expected = read_if_told(expected, |nanos| near(nanos, woke))?;
        let done = read_if_told(done, |time| when(time).filter(|done| *done >= woke))?;
        let turn = LoopTurn { expected, woke, done };
        self.last = Some(turn.done.unwrap_or(woke));
        Some(turn)
    }

    fn newly_lost(&mut self, words: &[AtomicU64]) -> u64 {
        let lost = words[LOST].load(Ordering::Relaxed);
        lost.saturating_sub(std::mem::replace(&mut self.lost, lost))
    }
}

/// 0 says nothing, which is another thing than to say what cannot be.
fn read_if_told(word: u64, read: impl FnOnce(u64) -> Option<MonotonicTime>) -> Option<Option<MonotonicTime>> {
    if word == 0 { Some(None) } else { read(word).map(Some) }
}

/// A time that a loop may have asked for.
fn near(nanos: u64, woke: MonotonicTime) -> Option<MonotonicTime> {
    let expected = MonotonicTime::from_nanos(i64::try_from(nanos).ok()?);
    (woke.since(expected) <= AWAY && expected.since(woke) <= AWAY).then_some(expected)
}

/// Whose ring it is; `None` as long as nobody has written to it.
fn marked(words: &[AtomicU64]) -> Option<Marked> {
    let thread = words[THREAD].load(Ordering::Acquire);
    if thread == 0 {
        return None;
    }
    let name: Vec<u8> =
        words[NAME].iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).collect();
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    let name = if name.is_empty() { "loop".into() } else { String::from_utf8_lossy(name).into_owned() };
    let period = Span::from_nanos(words[PERIOD].load(Ordering::Relaxed));
    let half = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(0);
    // A period of more than a year is none.
    let period = if period > AWAY.times(24 * 366) { Span::ZERO } else { period };
    Some(Marked { name, period, pid: half(thread >> 32), tid: half(thread) })
}
