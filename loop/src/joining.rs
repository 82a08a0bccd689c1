//! How a loop finds its memory: that of the howlate that started its program, or else what whoever records reads.

use std::os::fd::RawFd;
use std::sync::atomic::Ordering::Relaxed;

use crate::layout::{FIRST, LENGTH, MAGIC, RING, RINGS, SPANS, TAKEN, TICKS};
use crate::page::{self, HEAD, Words, length};
use crate::recorder;

/// The number of the file that howlate hands on.
const VARIABLE: &str = "HOWLATE_LOOPS";

/// A ring that was taken.
pub(crate) struct Taken {
    pub(crate) words: Words,
    /// Whether its times are ticks.
    pub(crate) ticks: bool,
    /// Whether howlate reads spans.
    pub(crate) spans: bool,
}

/// A ring of its own. `None` without a howlate, or where all rings are taken.
pub(crate) fn join() -> Option<Taken> {
    match page::variable(VARIABLE) {
        Some(file) => take(file.to_str()?.parse().ok()?),
        None => take(recorder::memory()?),
    }
}

fn take(file: RawFd) -> Option<Taken> {
    let head = Words::shared(file, 0, HEAD).filter(|_| length(file) == Some(LENGTH))?;
    let head = head.get();
    if head[MAGIC.0].load(Relaxed) != MAGIC.1 {
        return None;
    }
    let number = usize::try_from(head[TAKEN].fetch_add(1, Relaxed)).ok().filter(|number| *number < RINGS)?;
    let words = Words::shared(file, FIRST + number * RING, RING)?;
    // No turn is to meet a page fault.
    words.get().iter().step_by(HEAD / size_of::<u64>()).for_each(|word| word.store(0, Relaxed));
    let [ticks, spans] = [TICKS, SPANS].map(|place| head[place].load(Relaxed) != 0);
    Some(Taken { words, ticks, spans })
}
