//! howlate's end of a ring.

use howlate_model::{LoopTurn, MonotonicTime, Span, SpanTime};

use super::layout::{
    CAPACITY, CLOCK, HEAD, LOST, NAME, PERIOD, READ, SPAN_KINDS, SPAN_LOST, SPAN_WRITTEN, THREAD, TURN,
    TURNS, WRITTEN, ring,
};
use super::memory::Memory;
use super::spans::{self, Spans};
use super::{Marked, MarkedTurn, SpansLeftOut, Times};

/// No loop is expected further away from its turn.
const AWAY: Span = Span::from_secs(3_600);

/// A ring, and how far it was read.
pub(super) struct Ring {
    number: usize,
    /// Where it begins.
    first: usize,
    of: Option<Marked>,
    /// What its head said when last looked at.
    head: [u64; HEAD],
    read: u64,
    /// What the program says that it lost, when it was last asked.
    lost: u64,
    last: Option<MonotonicTime>,
    spans: Spans,
}

/// A turn as the program wrote it: when it was due, when it began, and when its work was done.
type Written = [u64; TURN];

impl Ring {
    pub(super) fn new(number: usize) -> Self {
        Self {
            number,
            first: ring(number).start,
            of: None,
            head: [0; HEAD],
            read: 0,
            lost: 0,
            last: None,
            spans: Spans::default(),
        }
    }

    /// Looks how far it is written. What is read after lies before whatever time it is then.
    pub(super) fn look(&mut self, memory: &Memory) {
        self.head = memory.words(self.first);
        // Spans of the turns that are seen are seen as well: their number is read after that of turns.
        if self.head[WRITTEN] != self.read {
            self.head[SPAN_WRITTEN] = memory.word(self.first + SPAN_WRITTEN);
        }
        self.spans.look(self.head[SPAN_WRITTEN]);
    }

    /// Hands on the turns that had come when it was last looked, the last ones where that is more than `most`, of which they are
    /// taken; returns how many were lost, or were none.
    pub(super) fn read(
        &mut self,
        memory: &Memory,
        times: &Times,
        most: &mut u64,
        take: &mut dyn FnMut(MarkedTurn<'_>),
    ) -> u64 {
        let Some(of) = self.of.take().or_else(|| marked(&self.head)) else { return 0 };
        let number = self.number;
        let mut take_turn = |turn, spans: &[SpanTime]| take(MarkedTurn { number, of: &of, turn, spans });
        let lost = self.turns(memory, times, most, &mut take_turn);
        self.of = Some(of);
        lost.saturating_add(self.newly_lost())
    }

    fn turns(
        &mut self,
        memory: &Memory,
        times: &Times,
        most: &mut u64,
        take: &mut dyn FnMut(LoopTurn, &[SpanTime]),
    ) -> u64 {
        let written = self.head[WRITTEN];
        if written == self.read {
            return 0;
        }
        let (moments, by_clock) = (&times.moments, self.head[CLOCK] != 0);
        let when = |time| if by_clock { moments.when_read(time) } else { moments.when(time) };
        let (all, mut lost) = self.written(memory, most);
        let mut spans = self.spans.written(memory, self.first, most);
        for turn in all {
            match self.turn(turn, times.due_since, when) {
                Some(turn) => take(turn, &spans.of_turn(turn, when)),
                None => lost += 1,
            }
        }
        self.spans.is_read(memory, self.first, &spans);
        self.read = written;
        memory.set(self.first + READ, written);
        lost
    }

    /// What the program has written since the last time, and how much of it was lost.
    fn written(&self, memory: &Memory, most: &mut u64) -> (Vec<Written>, u64) {
        let waiting = self.head[WRITTEN].wrapping_sub(self.read);
        // Who keeps to the rules never writes more than fits.
        let (waiting, lost) = if waiting > CAPACITY { (0, 1) } else { (waiting, 0) };
        let count = waiting.min(*most);
        *most -= count;
        let first = self.head[WRITTEN].wrapping_sub(count);
        let all = spans::around(memory, self.first + TURNS, CAPACITY, first, count);
        (all, waiting.saturating_sub(count).saturating_add(lost))
    }

    /// A turn, if it can have been one: not before the end of the one before, which a loop that waits for nothing begins at in the same
    /// nanosecond; done after it began; neither of them yet to come; and due since its program could be heard.
    fn turn(
        &mut self,
        [expected, woke, done]: Written,
        since: MonotonicTime,
        when: impl Fn(u64) -> Option<MonotonicTime>,
    ) -> Option<LoopTurn> {
        let woke = when(woke).filter(|woke| self.last.is_none_or(|last| last <= *woke))?;
        let due = |nanos| near(nanos, woke).filter(|due| *due >= since);
        let expected = read_if_told(expected, due)?;
        let done = read_if_told(done, |time| when(time).filter(|done| *done >= woke))?;
        let turn = LoopTurn { expected, woke, done };
        self.last = Some(turn.done.unwrap_or(woke));
        Some(turn)
    }

    /// Spans that were lost, or were none, and the first name of one that found no place.
    pub(super) fn spans_left_out(&self, memory: &Memory) -> Option<SpansLeftOut> {
        let name = self.of.as_ref()?.name.clone();
        let lost = self.spans.lost().saturating_add(memory.word(self.first + SPAN_LOST));
        let first = spans::left_out(memory, self.first);
        (lost > 0 || first.is_some()).then_some(SpansLeftOut { name, lost, first, kept: SPAN_KINDS as u64 })
    }

    fn newly_lost(&mut self) -> u64 {
        let lost = self.head[LOST];
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
fn marked(head: &[u64; HEAD]) -> Option<Marked> {
    let thread = head[THREAD];
    if thread == 0 {
        return None;
    }
    let name = super::name::read(&head[NAME]).unwrap_or_else(|| "loop".to_owned());
    let period = Span::from_nanos(head[PERIOD]);
    let half = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(0);
    // A period of more than a year is none.
    let period = if period > AWAY.times(24 * 366) { Span::ZERO } else { period };
    Some(Marked { name, period, pid: half(thread >> 32), tid: half(thread) })
}
