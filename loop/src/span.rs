//! Named parts of a turn.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::layout::{SPAN_CAPACITY, SPAN_LOST, SPAN_READ, SPAN_TIMES, SPAN_WRITTEN};
use crate::page::now;
use crate::ring::Ring;

/// A part of a turn that has begun; it ends when this is dropped.
#[derive(Debug)]
#[must_use = "the span ends when this is dropped"]
pub struct Span<'a> {
    /// `None` where nobody measures it.
    of: Option<(&'a Ring, u64)>,
    began: u64,
}

impl<'a> Span<'a> {
    #[inline]
    pub(crate) fn begin(ring: Option<&'a Ring>, name: &'static str) -> Self {
        let of = ring.and_then(|ring| Some((ring, ring.names()?.number(ring.own_words()?, name)?)));
        let began = of.map_or(0, |(ring, _)| now(ring.has_ticks()));
        Self { of, began }
    }
}

impl Drop for Span<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some((ring, number)) = self.of {
            put(ring, number, self.began);
        }
    }
}

/// Hands on what began then and ends now, or counts it as lost where there is no room.
#[inline]
fn put(ring: &Ring, number: u64, began: u64) {
    let Some(words) = ring.own_words() else { return };
    let written = words[SPAN_WRITTEN].load(Relaxed);
    if written.wrapping_sub(words[SPAN_READ].load(Acquire)) >= SPAN_CAPACITY {
        words[SPAN_LOST].store(words[SPAN_LOST].load(Relaxed).wrapping_add(1), Relaxed);
        return;
    }
    let length = now(ring.has_ticks()).wrapping_sub(began);
    let place = SPAN_TIMES + usize::try_from(written % SPAN_CAPACITY).unwrap_or(0) * 2;
    words[place].store(began, Relaxed);
    words[place + 1].store(length << 8 | number, Relaxed);
    words[SPAN_WRITTEN].store(written.wrapping_add(1), Release);
}
