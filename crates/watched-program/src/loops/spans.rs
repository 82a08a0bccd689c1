//! Spans within turns: parts that the program has named.

use std::sync::atomic::{AtomicU64, Ordering};

use howlate_model::{LoopTurn, MonotonicTime, Span, SpanTime};

use super::layout::{
    NAME, SPAN, SPAN_CAPACITY, SPAN_KINDS, SPAN_LOST, SPAN_NAMES, SPAN_READ, SPAN_TIMES, SPAN_WRITTEN,
};

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

/// One, as the program wrote it.
#[derive(Clone, Copy)]
struct Entry {
    name: usize,
    began: MonotonicTime,
    ended: MonotonicTime,
}

impl Spans {
    /// Looks how far they are written: those of a turn that was written before were as well.
    pub(super) fn look(&mut self, words: &[AtomicU64]) {
        self.written = words[SPAN_WRITTEN].load(Ordering::Acquire);
        if self.written.wrapping_sub(self.read) > SPAN_CAPACITY {
            self.lost = self.lost.saturating_add(1);
            self.read = self.written;
        }
    }

    /// How much of a turn lay in each span. What lies outside of turns that were done is left out.
    pub(super) fn of_turn(
        &mut self,
        words: &[AtomicU64],
        turn: LoopTurn,
        when: impl Fn(u64) -> Option<MonotonicTime>,
    ) -> Vec<SpanTime> {
        let done = turn.done.unwrap_or(turn.woke);
        let mut parts: [Vec<Entry>; SPAN_KINDS] = Default::default();
        while self.read != self.written {
            match entry(words, self.read, &when) {
                None => self.lost = self.lost.saturating_add(1),
                Some(one) if one.began >= done => break,
                Some(one) if one.began < turn.woke || one.ended > done => {}
                Some(one) => cover(&mut parts[one.name], one),
            }
            self.read = self.read.wrapping_add(1);
        }
        words[SPAN_READ].store(self.read, Ordering::Release);
        let named = parts.iter().enumerate().filter(|(_, parts)| !parts.is_empty());
        named.map(|(name, parts)| SpanTime { name: name_of(words, name), spent: sum(parts) }).collect()
    }

    /// How many were lost, or were none.
    pub(super) fn lost(&self, words: &[AtomicU64]) -> u64 {
        self.lost.saturating_add(words[SPAN_LOST].load(Ordering::Relaxed))
    }
}

/// The first name that found no place.
pub(super) fn left_out(words: &[AtomicU64]) -> Option<String> {
    (words[SPAN_NAMES + SPAN_KINDS * NAME.len()].load(Ordering::Relaxed) != 0)
        .then(|| name_of(words, SPAN_KINDS))
}

/// What cannot have been is none.
fn entry(words: &[AtomicU64], number: u64, when: &impl Fn(u64) -> Option<MonotonicTime>) -> Option<Entry> {
    let place = SPAN_TIMES + usize::try_from(number % SPAN_CAPACITY).ok()? * SPAN;
    let [began, more] = [0, 1].map(|word| words[place + word].load(Ordering::Relaxed));
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

fn name_of(words: &[AtomicU64], number: usize) -> String {
    let first = SPAN_NAMES + number * NAME.len();
    super::name::read(&words[first..first + NAME.len()]).unwrap_or_else(|| "span".to_owned())
}
