//! Spans within turns: parts that the program has named.

use howlate_model::{LoopTurn, MonotonicTime, Span, SpanTime};

use super::layout::{NAME, SPAN, SPAN_CAPACITY, SPAN_KINDS, SPAN_NAMES, SPAN_READ, SPAN_TIMES};
use super::memory::Memory;

/// Bits of an entry's second word that hold the number of the name.
const NUMBER_BITS: u32 = 8;

/// How a ring's spans were read so far.
#[derive(Default)]
pub(super) struct Spans {
    read: u64,
    /// How far they were written when last looked at.
    written: u64,
    lost: u64,
}

/// Spans that the program has written and that belong to no turn yet.
pub(super) struct WrittenSpans {
    names: Vec<String>,
    entries: std::vec::IntoIter<[u64; SPAN]>,
    lost: u64,
}

/// One, as the program wrote it.
#[derive(Clone, Copy)]
struct Entry {
    name: usize,
    began: MonotonicTime,
    ended: MonotonicTime,
}

impl Spans {
    /// They are written so far: those of a turn that was written before were as well.
    pub(super) fn look(&mut self, written: u64) {
        self.written = written;
        if self.written.wrapping_sub(self.read) > SPAN_CAPACITY {
            self.lost = self.lost.saturating_add(1);
            self.read = self.written;
        }
    }

    /// Those of the ring that begins at `ring`; the last ones where that is more than `most`, of which they are taken.
    pub(super) fn written(&mut self, memory: &Memory, ring: usize, most: &mut u64) -> WrittenSpans {
        let waiting = self.written.wrapping_sub(self.read);
        let count = waiting.min(*most);
        *most -= count;
        self.lost = self.lost.saturating_add(waiting - count);
        let first = self.written.wrapping_sub(count);
        let entries = around(memory, ring + SPAN_TIMES, SPAN_CAPACITY, first, count);
        let names =
            if count == 0 { Vec::new() } else { memory.many(ring + SPAN_NAMES, SPAN_KINDS * NAME.len()) };
        let names = names.chunks(NAME.len()).map(name).collect();
        WrittenSpans { names, entries: entries.into_iter(), lost: 0 }
    }

    /// What is left of them belongs to turns to come.
    pub(super) fn is_read(&mut self, memory: &Memory, ring: usize, left: &WrittenSpans) {
        self.lost = self.lost.saturating_add(left.lost);
        self.read = self.written.wrapping_sub(left.entries.len() as u64);
        memory.set(ring + SPAN_READ, self.read);
    }

    /// How many were lost, or were none.
    pub(super) const fn lost(&self) -> u64 {
        self.lost
    }
}

impl WrittenSpans {
    /// How much of a turn lay in each span. What lies outside of turns that were done is left out.
    pub(super) fn of_turn(
        &mut self,
        turn: LoopTurn,
        when: impl Fn(u64) -> Option<MonotonicTime>,
    ) -> Vec<SpanTime> {
        let done = turn.done.unwrap_or(turn.woke);
        let mut parts: [Vec<Entry>; SPAN_KINDS] = Default::default();
        while let Some(next) = self.entries.as_slice().first() {
            match entry(*next, &when) {
                None => self.lost = self.lost.saturating_add(1),
                Some(one) if one.began >= done => break,
                Some(one) if one.began < turn.woke || one.ended > done => {}
                Some(one) => cover(&mut parts[one.name], one),
            }
            self.entries.next();
        }
        let named = self.names.iter().zip(&parts).filter(|(_, parts)| !parts.is_empty());
        named.map(|(name, parts)| SpanTime { name: name.clone(), spent: sum(parts) }).collect()
    }
}

/// Entries of a ring that begins at `place` and has room for `capacity`: so many from number `first` on.
pub(super) fn around<const N: usize>(
    memory: &Memory,
    place: usize,
    capacity: u64,
    first: u64,
    count: u64,
) -> Vec<[u64; N]> {
    let from = usize::try_from(first % capacity).unwrap_or(0);
    let (count, capacity) = (usize::try_from(count).unwrap_or(0), usize::try_from(capacity).unwrap_or(0));
    let before_the_end = count.min(capacity - from);
    let mut words = memory.many(place + from * N, before_the_end * N);
    words.extend(memory.many(place, (count - before_the_end) * N));
    words.chunks_exact(N).filter_map(|entry| entry.try_into().ok()).collect()
}

/// The first name that found no place.
pub(super) fn left_out(memory: &Memory, ring: usize) -> Option<String> {
    let words = memory.many(ring + SPAN_NAMES + SPAN_KINDS * NAME.len(), NAME.len());
    (words.first() != Some(&0)).then(|| name(&words))
}

/// What cannot have been is none.
fn entry([began, more]: [u64; SPAN], when: &impl Fn(u64) -> Option<MonotonicTime>) -> Option<Entry> {
    let name = usize::try_from(more & ((1 << NUMBER_BITS) - 1)).ok().filter(|name| *name < SPAN_KINDS)?;
    let (began, ended) = (when(began)?, when(began.checked_add(more >> NUMBER_BITS)?)?);
    Some(Entry { name, began, ended })
}

/// One that others of the same name lie in covers them.
fn cover(parts: &mut Vec<Entry>, one: Entry) {
    while parts.pop_if(|last| last.began >= one.began).is_some() {}
    parts.push(one);
}

fn sum(parts: &[Entry]) -> Span {
    parts.iter().map(|one| one.ended.since(one.began)).fold(Span::ZERO, Span::plus)
}

fn name(words: &[u64]) -> String {
    super::name::read(words).unwrap_or_else(|| "span".to_owned())
}
