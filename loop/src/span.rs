//! Named parts of a turn.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::layout::{SPAN_CAPACITY, SPAN_LOST, SPAN_READ, SPAN_TIMES, SPAN_WRITTEN};
use crate::page::now;
use crate::ring::Ring;

/// Guard of a named part of a turn, which ends when it is dropped.
#[derive(Debug)]
#[must_use = "the span ends when this is dropped"]
pub struct Span<'a> {
    /// Ring and number of the name; `None` if the span is not measured.
    target: Option<(&'a Ring, u64)>,
    began: u64,
}

impl<'a> Span<'a> {
    #[inline]
    pub(crate) fn begin(ring: Option<&'a Ring>, name: &'static str) -> Self {
        let target = ring.and_then(|ring| Some((ring, ring.span_names()?.number(ring.own_words()?, name)?)));
        let began = target.map_or(0, |(ring, _)| now(ring.uses_ticks()));
        Self { target, began }
    }
}

impl Drop for Span<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some((ring, number)) = self.target {
            put(ring, number, self.began);
        }
    }
}

/// Writes a span that ends now, or counts it as lost if the ring is full.
#[inline]
fn put(ring: &Ring, number: u64, began: u64) {
    let Some(words) = ring.own_words() else { return };
    let written = words[SPAN_WRITTEN].load(Relaxed);
    if written.wrapping_sub(words[SPAN_READ].load(Acquire)) >= SPAN_CAPACITY {
        words[SPAN_LOST].store(words[SPAN_LOST].load(Relaxed).wrapping_add(1), Relaxed);
        return;
    }
    let length = now(ring.uses_ticks()).wrapping_sub(began);
    let place = SPAN_TIMES + usize::try_from(written % SPAN_CAPACITY).unwrap_or(0) * 2;
    words[place].store(began, Relaxed);
    words[place + 1].store(length << 8 | number, Relaxed);
    words[SPAN_WRITTEN].store(written.wrapping_add(1), Release);
}
