//! What `fuzz/` feeds: the memory of marked loops, as any program may leave it.

use std::cell::RefCell;

use howlate_linux::clock;
use howlate_model::Span;

use crate::{Loops, MarkedTurn};

thread_local! {
    static LOOPS: RefCell<Option<Loops>> = RefCell::new(Loops::create(false).ok());
}

/// Writes `bytes` to the head and the beginning of the first rings, and reads what howlate makes of them: turns of a time that has
/// been, each not before the end of the one before. One that nobody says the end of may begin and end in a nanosecond.
pub fn loops(bytes: &[u8]) {
    LOOPS.with_borrow_mut(|loops| {
        let Some(loops) = loops else { return };
        loops.overwrite(bytes);
        let mut last = [None; 80];
        loops.read(&mut |MarkedTurn { number, of, turn, spans }| {
            assert!(!of.name.is_empty() && turn.woke <= clock::now());
            assert!(
                last[number].is_none_or(|last| last <= turn.woke)
                    && turn.done.is_none_or(|done| done >= turn.woke)
            );
            last[number] = turn.done.or(Some(turn.woke));
            let work = turn.done.map_or(Span::ZERO, |done| done.since(turn.woke));
            assert!(spans.iter().all(|one| !one.name.is_empty() && one.spent <= work));
        });
        drop((loops.left_out(), loops.spans_left_out()));
    });
}
