//! Entry points of `fuzz/`: memory that another thread or process writes.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use howlate_linux::shared_memory::SharedMemory;
use howlate_model::{Block, MonotonicTime, Wakeup};

use crate::notify::message_matching::MessageMatching;
use crate::notify::shared::{Arrivals, words_for};
use crate::ring::{RingWriter, WakeupRing};

/// Each byte is a write of wake-ups or a read: none may be lost without being counted, duplicated or out of order.
pub fn ring(steps: &[u8]) {
    let ring = WakeupRing::new(1 + steps.len() % 60);
    let mut writer = RingWriter::new(Arc::clone(&ring));
    let (mut pushed, mut taken, mut last) = (0_i64, 0_u64, -1);
    let mut drain = || {
        ring.drain(|pending| {
            for wakeup in pending.wakeups() {
                assert!(wakeup.expected.as_nanos() > last && wakeup.ran == wakeup.expected);
                last = wakeup.expected.as_nanos();
                taken += 1;
            }
        });
        taken
    };
    for step in steps {
        if step % 4 == 0 {
            drain();
            continue;
        }
        for _ in 0..step / 4 {
            let at = MonotonicTime::from_nanos(pushed);
            writer.push(Wakeup { expected: at, ran: at });
            pushed += 1;
        }
    }
    assert_eq!(drain() + ring.lost(), pushed.unsigned_abs());
}

/// Capacity for stamps of the receiver.
const STAMPS: usize = 60;

thread_local! {
    static MEMORY: Option<Arc<SharedMemory>> =
        SharedMemory::create(words_for(STAMPS)).ok().map(|(memory, _)| Arc::new(memory));
}

/// Reads shared memory that holds `bytes`, as the observer does.
pub fn shared_memory(bytes: &[u8]) {
    let Some(memory) = MEMORY.with(Clone::clone) else { return };
    let mut words = bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    memory.words().iter().for_each(|word| word.store(words.next().unwrap_or(0), Ordering::Relaxed));
    let arrivals = Arrivals::new(memory);
    let (mut matching, mut block) = (MessageMatching::default(), Block::default());
    let sent = STAMPS as u64;
    for place in 0..arrivals.count() {
        let (number, ran) = arrivals.get(place);
        if matching.record(number, sent) {
            let expected = MonotonicTime::from_nanos(1_000_000_000);
            block.record(Wakeup { expected, ran }, None);
        }
    }
    let irregular = matching.irregular(sent);
    assert_eq!(block.latency.count() + irregular.messages_reordered + irregular.messages_lost, sent);
}
