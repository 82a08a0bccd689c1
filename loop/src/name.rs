//! Names of loops and of spans, as the memory has them.

use std::cell::Cell;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::layout::{LETTERS, SPAN_KINDS, SPAN_NAMES};

/// What is kept of a name.
pub(crate) fn letters(name: &str) -> [u8; LETTERS] {
    let mut letters = [0; LETTERS];
    let kept = name.bytes().take(LETTERS - 1).take_while(|byte| *byte != 0);
    letters.iter_mut().zip(kept).for_each(|(letter, byte)| *letter = byte);
    letters
}

/// Writes it to the words that it takes.
pub(crate) fn write(words: &[AtomicU64], name: &[u8; LETTERS]) {
    for (word, letters) in words.iter().zip(name.chunks_exact(8)) {
        let mut eight = [0; 8];
        eight.copy_from_slice(letters);
        word.store(u64::from_ne_bytes(eight), Relaxed);
    }
}

/// The names that have a place in a ring, in their order.
#[derive(Debug, Default)]
pub(crate) struct Names {
    known: [Cell<Option<&'static str>>; SPAN_KINDS],
}

impl Names {
    /// The place of a name, which it takes where it has none; `None` where all are taken.
    #[inline]
    pub(crate) fn number(&self, words: &[AtomicU64], name: &'static str) -> Option<u64> {
        let place = self.known.iter().position(|known| known.get().is_none_or(|known| known == name));
        let place = place.unwrap_or(SPAN_KINDS);
        if self.known.get(place).is_none_or(|known| known.get().is_none()) {
            self.take(words, place, name);
        }
        u64::try_from(place).ok().filter(|_| place < SPAN_KINDS)
    }

    /// The place behind the last is of the first name that found none.
    #[cold]
    fn take(&self, words: &[AtomicU64], place: usize, name: &'static str) {
        let first = SPAN_NAMES + place * LETTERS / 8;
        if words[first].load(Relaxed) == 0 {
            let letters = letters(if name.is_empty() { "span" } else { name });
            write(&words[first..], &letters);
        }
        self.known.get(place).into_iter().for_each(|known| known.set(Some(name)));
    }
}
