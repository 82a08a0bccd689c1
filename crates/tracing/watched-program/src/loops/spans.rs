//! Named spans of time within turns.

use howlate_model::{LoopIteration, MonotonicTime, Span, SpanTime};

use super::layout::{NAME, SPAN, SPAN_CAPACITY, SPAN_KINDS, SPAN_NAMES, SPAN_READ, SPAN_TIMES};
use super::memory::{Memory, read_name};

/// Bits of an entry's second word that hold the index of the name.
const NUMBER_BITS: u32 = 8;

/// How far a ring's spans were read.
#[derive(Default)]
pub(super) struct SpanReader {
    read: u64,
    /// Spans that were written at the last update.
    written: u64,
    lost: u64,
}

/// Spans that are not assigned to a turn yet.
pub(super) struct PendingSpans {
    names: Vec<String>,
    entries: std::vec::IntoIter<[u64; SPAN]>,
    lost: u64,
}

/// A span as written.
#[derive(Clone, Copy)]
struct SpanEntry {
    name: usize,
    began: MonotonicTime,
    ended: MonotonicTime,
}

impl SpanReader {
    /// Call it after the turns were counted: the spans of those turns are included.
    pub(super) fn update(&mut self, written: u64) {
        self.written = written;
        if self.written.wrapping_sub(self.read) > SPAN_CAPACITY {
            self.lost = self.lost.saturating_add(1);
            self.read = self.written;
        }
    }

    /// The newest `most` spans of the ring at `ring`; `most` is reduced by their number.
    pub(super) fn take(&mut self, memory: &Memory, ring: usize, most: &mut u64) -> PendingSpans {
        let waiting = self.written.wrapping_sub(self.read);
        let count = waiting.min(*most);
        *most -= count;
        self.lost = self.lost.saturating_add(waiting - count);
        let first = self.written.wrapping_sub(count);
        let entries = read_entries(memory, ring + SPAN_TIMES, SPAN_CAPACITY, first, count);
        let names = if count == 0 {
            Vec::new()
        } else {
            memory.words_vec(ring + SPAN_NAMES, SPAN_KINDS * NAME.len())
        };
        let names = names.chunks(NAME.len()).map(name).collect();
        PendingSpans { names, entries: entries.into_iter(), lost: 0 }
    }

    /// Spans that remain belong to later turns.
    pub(super) fn finish_read(&mut self, memory: &Memory, ring: usize, remaining: &PendingSpans) {
        self.lost = self.lost.saturating_add(remaining.lost);
        self.read = self.written.wrapping_sub(remaining.entries.len() as u64);
        memory.set(ring + SPAN_READ, self.read);
    }

    /// Spans that were lost or invalid.
    pub(super) const fn lost(&self) -> u64 {
        self.lost
    }
}

impl PendingSpans {
    /// How much of a turn lay in each span. Spans outside of completed turns are dropped.
    pub(super) fn of_turn(
        &mut self,
        turn: LoopIteration,
        convert: impl Fn(u64) -> Option<MonotonicTime>,
    ) -> Vec<SpanTime> {
        let done = turn.done.unwrap_or(turn.woke);
        let mut parts: [Vec<SpanEntry>; SPAN_KINDS] = Default::default();
        while let Some(next) = self.entries.as_slice().first() {
            match parse_entry(*next, &convert) {
                None => self.lost = self.lost.saturating_add(1),
                Some(span) if span.began >= done => break,
                Some(span) if span.began < turn.woke || span.ended > done => {}
                Some(span) => cover(&mut parts[span.name], span),
            }
            self.entries.next();
        }
        let used = self.names.iter().zip(&parts).filter(|(_, parts)| !parts.is_empty());
        used.map(|(name, parts)| SpanTime { name: name.clone(), spent: sum(parts) }).collect()
    }
}

/// `count` entries of the ring buffer at `place`, from number `first` on.
pub(super) fn read_entries<const N: usize>(
    memory: &Memory,
    place: usize,
    capacity: u64,
    first: u64,
    count: u64,
) -> Vec<[u64; N]> {
    let from = usize::try_from(first % capacity).unwrap_or(0);
    let (count, capacity) = (usize::try_from(count).unwrap_or(0), usize::try_from(capacity).unwrap_or(0));
    let before_the_end = count.min(capacity - from);
    let mut words = memory.words_vec(place + from * N, before_the_end * N);
    words.extend(memory.words_vec(place, (count - before_the_end) * N));
    words.chunks_exact(N).filter_map(|entry| entry.try_into().ok()).collect()
}

/// The first name that did not fit.
pub(super) fn first_unstored_name(memory: &Memory, ring: usize) -> Option<String> {
    let words = memory.words_vec(ring + SPAN_NAMES + SPAN_KINDS * NAME.len(), NAME.len());
    (words.first() != Some(&0)).then(|| name(&words))
}

/// `None` if invalid.
fn parse_entry(
    [began, more]: [u64; SPAN],
    convert: &impl Fn(u64) -> Option<MonotonicTime>,
) -> Option<SpanEntry> {
    let name = usize::try_from(more & ((1 << NUMBER_BITS) - 1)).ok().filter(|name| *name < SPAN_KINDS)?;
    let (began, ended) = (convert(began)?, convert(began.checked_add(more >> NUMBER_BITS)?)?);
    Some(SpanEntry { name, began, ended })
}

/// A span replaces spans of its name that lie within it.
fn cover(parts: &mut Vec<SpanEntry>, span: SpanEntry) {
    while parts.pop_if(|last| last.began >= span.began).is_some() {}
    parts.push(span);
}

fn sum(parts: &[SpanEntry]) -> Span {
    parts.iter().map(|span| span.ended.since(span.began)).fold(Span::ZERO, Span::plus)
}

fn name(words: &[u64]) -> String {
    read_name(words).unwrap_or_else(|| "span".to_owned())
}
