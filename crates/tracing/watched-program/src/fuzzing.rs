//! Entry point of `fuzz/`: arbitrary contents of the shared memory of marked loops.

use std::cell::RefCell;

use howlate_linux::clock;
use howlate_model::Span;

use crate::{MarkedLoops, MarkedTurn};

thread_local! {
    static LOOPS: RefCell<Option<MarkedLoops>> = RefCell::new(MarkedLoops::create(false).ok());
}

/// Writes `bytes` to the headers and first entries of the rings, and reads the turns: each lies in the past, and none begins before the
/// previous one ended. A turn without an end may have the length 0.
pub fn loops(bytes: &[u8]) {
    LOOPS.with_borrow_mut(|loops| {
        let Some(loops) = loops else { return };
        loops.overwrite(bytes);
        let mut last_end = [None; 80];
        loops.read(&mut |MarkedTurn { number, marked_loop, turn, spans }| {
            assert!(!marked_loop.name.is_empty() && turn.woke <= clock::now());
            assert!(
                last_end[number].is_none_or(|last| last <= turn.woke)
                    && turn.done.is_none_or(|done| done >= turn.woke)
            );
            last_end[number] = turn.done.or(Some(turn.woke));
            let work = turn.done.map_or(Span::ZERO, |done| done.since(turn.woke));
            assert!(spans.iter().all(|span| !span.name.is_empty() && span.spent <= work));
        });
        drop((loops.unmeasured_loops(), loops.unmeasured_spans()));
    });
}
