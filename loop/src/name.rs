//! Names of loops and spans in the shared memory: zero-padded bytes.

use std::cell::Cell;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::layout::{LETTERS, SPAN_KINDS, SPAN_NAMES};

/// Truncated to leave room for the final zero byte, and at the first zero byte.
pub(crate) fn encode(name: &str) -> [u8; LETTERS] {
    let mut encoded = [0; LETTERS];
    let bytes = name.bytes().take(LETTERS - 1).take_while(|byte| *byte != 0);
    encoded.iter_mut().zip(bytes).for_each(|(target, byte)| *target = byte);
    encoded
}

pub(crate) fn write(words: &[AtomicU64], name: &[u8; LETTERS]) {
    for (word, chunk) in words.iter().zip(name.chunks_exact(8)) {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(chunk);
        word.store(u64::from_ne_bytes(bytes), Relaxed);
    }
}

/// The span names of a ring; their index is their number in the shared memory.
#[derive(Debug, Default)]
pub(crate) struct SpanNames {
    names: [Cell<Option<&'static str>>; SPAN_KINDS],
}

impl SpanNames {
    /// The number of a name, which is added if it is new; `None` if there is no room.
    #[inline]
    pub(crate) fn number(&self, words: &[AtomicU64], name: &'static str) -> Option<u64> {
        let place = self.names.iter().position(|slot| slot.get().is_none_or(|used| used == name));
        let place = place.unwrap_or(SPAN_KINDS);
        if self.names.get(place).is_none_or(|slot| slot.get().is_none()) {
            self.add(words, place, name);
        }
        u64::try_from(place).ok().filter(|_| place < SPAN_KINDS)
    }

    /// `place` may be one beyond the last: that one keeps the first name for which there was no room.
    #[cold]
    fn add(&self, words: &[AtomicU64], place: usize, name: &'static str) {
        let first = SPAN_NAMES + place * LETTERS / 8;
        if words[first].load(Relaxed) == 0 {
            let encoded = encode(if name.is_empty() { "span" } else { name });
            write(&words[first..], &encoded);
        }
        self.names.get(place).into_iter().for_each(|slot| slot.set(Some(name)));
    }
}
