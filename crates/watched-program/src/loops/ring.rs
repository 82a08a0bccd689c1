//! howlate's end of a ring.

use std::sync::atomic::{AtomicU64, Ordering};

use howlate_model::{LoopTurn, MonotonicTime, Span, SpanTime};

use super::layout::{
    CAPACITY, CLOCK, LOST, NAME, PERIOD, READ, SPAN_KINDS, THREAD, TURN, TURNS, WRITTEN, ring,
};
use super::moments::Moments;
use super::spans::{self, Spans};
use super::{Marked, MarkedTurn, SpansLeftOut};

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
    spans: Spans,
}

impl Ring {
    pub(super) fn new(number: usize) -> Self {
        let spans = Spans::default();
        Self { number, of: None, read: 0, written: 0, lost: 0, last: None, spans }
    }

    /// Looks how far it is written. What is read after lies before whatever time it is then.
    pub(super) fn look(&mut self, memory: &[AtomicU64]) {
        let words = &memory[ring(self.number)];
        self.written = words[WRITTEN].load(Ordering::Acquire);
        self.spans.look(words);
    }

    /// Hands on the turns that had come when it was last looked; returns how many were lost, or were none.
    pub(super) fn read(
        &mut self,
        memory: &[AtomicU64],
        moments: &Moments,
        take: &mut dyn FnMut(MarkedTurn<'_>),
    ) -> u64 {
        let words = &memory[ring(self.number)];
        let Some(of) = self.of.take().or_else(|| marked(words)) else { return 0 };
        let number = self.number;
        let mut take_turn = |turn, spans: &[SpanTime]| take(MarkedTurn { number, of: &of, turn, spans });
        let lost = self.turns(words, moments, &mut take_turn);
        self.of = Some(of);
        lost.saturating_add(self.newly_lost(words))
    }

    fn turns(
        &mut self,
        words: &[AtomicU64],
        moments: &Moments,
        take: &mut dyn FnMut(LoopTurn, &[SpanTime]),
    ) -> u64 {
        let when = |time| when(words, moments, time);
        let written = self.written;
        let waiting = written.wrapping_sub(self.read);
        // Who keeps to the rules never writes more than fits.
        let (first, mut lost) = if waiting > CAPACITY { (written, 1) } else { (self.read, 0) };
        for number in (0..written.wrapping_sub(first)).map(|past| first.wrapping_add(past)) {
            match self.turn(words, moments, number) {
                Some(turn) => take(turn, &self.spans.of_turn(words, turn, when)),
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
        let when = |time| when(words, moments, time);
        let woke = when(woke).filter(|woke| self.last.is_none_or(|last| last <= *woke))?;
        let expected = read_if_told(expected, |nanos| near(nanos, woke))?;
        let done = read_if_told(done, |time| when(time).filter(|done| *done >= woke))?;
        let turn = LoopTurn { expected, woke, done };
        self.last = Some(turn.done.unwrap_or(woke));
        Some(turn)
    }

    /// Spans that were lost, or were none, and the first name of one that found no place.
    pub(super) fn spans_left_out(&self, memory: &[AtomicU64]) -> Option<SpansLeftOut> {
        let words = &memory[ring(self.number)];
        let name = self.of.as_ref()?.name.clone();
        let (lost, first) = (self.spans.lost(words), spans::left_out(words));
        (lost > 0 || first.is_some()).then_some(SpansLeftOut { name, lost, first, kept: SPAN_KINDS as u64 })
    }

    fn newly_lost(&mut self, words: &[AtomicU64]) -> u64 {
        let lost = words[LOST].load(Ordering::Relaxed);
        lost.saturating_sub(std::mem::replace(&mut self.lost, lost))
    }
}

/// When that was; `None` where it cannot have been.
fn when(words: &[AtomicU64], moments: &Moments, time: u64) -> Option<MonotonicTime> {
    let by_clock = words[CLOCK].load(Ordering::Relaxed) != 0;
    if by_clock { moments.when_read(time) } else { moments.when(time) }
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
    let name = super::name::read(&words[NAME]).unwrap_or_else(|| "loop".to_owned());
    let period = Span::from_nanos(words[PERIOD].load(Ordering::Relaxed));
    let half = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(0);
    // A period of more than a year is none.
    let period = if period > AWAY.times(24 * 366) { Span::ZERO } else { period };
    Some(Marked { name, period, pid: half(thread >> 32), tid: half(thread) })
}
