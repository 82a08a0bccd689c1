//! Reads the turns that a program wrote to its ring.

use howlate_model::{LoopIteration, MonotonicTime, Span, SpanTime};

use super::layout::{
    CAPACITY, CLOCK, HEAD, LOST, NAME, PERIOD, READ, SPAN_KINDS, SPAN_LOST, SPAN_WRITTEN, THREAD, TURN,
    TURNS, WRITTEN, ring,
};
use super::memory::{Memory, read_name};
use super::spans::{self, SpanReader};
use super::{MarkedLoop, MarkedTurn, TurnClock, UnmeasuredSpans};

/// Largest plausible distance between the expected time of a turn and its start.
const MAX_DISTANCE: Span = Span::from_secs(3_600);

/// A ring, and how far it was read.
pub(super) struct LoopRing {
    number: usize,
    /// Index of its first word.
    first: usize,
    marked_loop: Option<MarkedLoop>,
    /// The header at the last update.
    head: [u64; HEAD],
    read: u64,
    /// Dropped turns that the program had counted at the last read.
    lost: u64,
    last: Option<MonotonicTime>,
    spans: SpanReader,
}

/// A turn as written: expected time, start, and end of work.
type RawTurn = [u64; TURN];

impl LoopRing {
    pub(super) fn new(number: usize) -> Self {
        Self {
            number,
            first: ring(number).start,
            marked_loop: None,
            head: [0; HEAD],
            read: 0,
            lost: 0,
            last: None,
            spans: SpanReader::default(),
        }
    }

    /// Reads how much is written. Call it before the clock is read: what it finds is no later than that.
    pub(super) fn update(&mut self, memory: &Memory) {
        self.head = memory.words(self.first);
        // The number of spans is read after that of turns, so that all spans of these turns are included.
        if self.head[WRITTEN] != self.read {
            self.head[SPAN_WRITTEN] = memory.word(self.first + SPAN_WRITTEN);
        }
        self.spans.update(self.head[SPAN_WRITTEN]);
    }

    /// Passes to `take` the turns that the last update found: the newest `most`, which is reduced by their number. Returns how many
    /// turns were lost or invalid.
    pub(super) fn read(
        &mut self,
        memory: &Memory,
        clock: &TurnClock,
        most: &mut u64,
        take: &mut dyn FnMut(MarkedTurn<'_>),
    ) -> u64 {
        let Some(marked_loop) = self.marked_loop.take().or_else(|| read_loop(&self.head)) else { return 0 };
        let number = self.number;
        let mut pass_on =
            |turn, spans: &[SpanTime]| take(MarkedTurn { number, marked_loop: &marked_loop, turn, spans });
        let lost = self.read_turns(memory, clock, most, &mut pass_on);
        self.marked_loop = Some(marked_loop);
        lost.saturating_add(self.newly_lost())
    }

    fn read_turns(
        &mut self,
        memory: &Memory,
        clock: &TurnClock,
        most: &mut u64,
        take: &mut dyn FnMut(LoopIteration, &[SpanTime]),
    ) -> u64 {
        let written = self.head[WRITTEN];
        if written == self.read {
            return 0;
        }
        let (conversion, by_clock) = (&clock.conversion, self.head[CLOCK] != 0);
        let convert = |time| if by_clock { conversion.convert_nanos(time) } else { conversion.convert(time) };
        let (raw_turns, mut lost) = self.take_written(memory, most);
        let mut spans = self.spans.take(memory, self.first, most);
        for raw_turn in raw_turns {
            match self.valid_turn(raw_turn, clock.due_since, convert) {
                Some(turn) => take(turn, &spans.of_turn(turn, convert)),
                None => lost += 1,
            }
        }
        self.spans.finish_read(memory, self.first, &spans);
        self.read = written;
        memory.set(self.first + READ, written);
        lost
    }

    /// Turns since the last read, and how many of them were lost.
    fn take_written(&self, memory: &Memory, most: &mut u64) -> (Vec<RawTurn>, u64) {
        let waiting = self.head[WRITTEN].wrapping_sub(self.read);
        // A correct program never writes more than fits.
        let (waiting, lost) = if waiting > CAPACITY { (0, 1) } else { (waiting, 0) };
        let count = waiting.min(*most);
        *most -= count;
        let first = self.head[WRITTEN].wrapping_sub(count);
        let raw_turns = spans::read_entries(memory, self.first + TURNS, CAPACITY, first, count);
        (raw_turns, waiting.saturating_sub(count).saturating_add(lost))
    }

    /// A turn, if it is valid: not before the end of the previous one (equality is allowed: a loop that does not wait starts its next
    /// turn in the same nanosecond), done after its start, not in the future, and expected no earlier than `since`.
    fn valid_turn(
        &mut self,
        [expected, woke, done]: RawTurn,
        since: MonotonicTime,
        convert: impl Fn(u64) -> Option<MonotonicTime>,
    ) -> Option<LoopIteration> {
        let woke = convert(woke).filter(|woke| self.last.is_none_or(|last| last <= *woke))?;
        let due = |nanos| plausible_time(nanos, woke).filter(|due| *due >= since);
        let expected = read_optional(expected, due)?;
        let done = read_optional(done, |time| convert(time).filter(|done| *done >= woke))?;
        let turn = LoopIteration { expected, woke, done };
        self.last = Some(turn.done.unwrap_or(woke));
        Some(turn)
    }

    /// Spans that were lost or invalid, and the first name that did not fit.
    pub(super) fn unmeasured_spans(&self, memory: &Memory) -> Option<UnmeasuredSpans> {
        let name = self.marked_loop.as_ref()?.name.clone();
        let lost = self.spans.lost().saturating_add(memory.word(self.first + SPAN_LOST));
        let first = spans::first_unstored_name(memory, self.first);
        (lost > 0 || first.is_some()).then_some(UnmeasuredSpans {
            name,
            lost,
            first,
            kept: SPAN_KINDS as u64,
        })
    }

    fn newly_lost(&mut self) -> u64 {
        let lost = self.head[LOST];
        lost.saturating_sub(std::mem::replace(&mut self.lost, lost))
    }
}

/// 0 means absent, which differs from an invalid value.
fn read_optional(
    word: u64,
    read: impl FnOnce(u64) -> Option<MonotonicTime>,
) -> Option<Option<MonotonicTime>> {
    if word == 0 { Some(None) } else { read(word).map(Some) }
}

/// An expected time, if it is plausible.
fn plausible_time(nanos: u64, woke: MonotonicTime) -> Option<MonotonicTime> {
    let expected = MonotonicTime::from_nanos(i64::try_from(nanos).ok()?);
    (woke.since(expected) <= MAX_DISTANCE && expected.since(woke) <= MAX_DISTANCE).then_some(expected)
}

/// The loop of a ring; `None` while no program has written to it.
fn read_loop(head: &[u64; HEAD]) -> Option<MarkedLoop> {
    let thread = head[THREAD];
    if thread == 0 {
        return None;
    }
    let name = read_name(&head[NAME]).unwrap_or_else(|| "loop".to_owned());
    let period = Span::from_nanos(head[PERIOD]);
    let half = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(0);
    // A period of more than a year is none.
    let period = if period > MAX_DISTANCE.times(24 * 366) { Span::ZERO } else { period };
    Some(MarkedLoop { name, period, pid: half(thread >> 32), tid: half(thread) })
}
