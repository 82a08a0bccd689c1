//! A lock-free ring of wake-ups from a measuring thread to the observer.

use std::sync::Arc;
#[cfg(not(loom))]
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use howlate_model::{MonotonicTime, Wakeup};
#[cfg(loom)]
use loom::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// A ring with one writer and one reader. A wake-up that does not fit is counted as lost.
pub(crate) struct WakeupRing {
    slots: Box<[Slot]>,
    written: PaddedCounter,
    read: PaddedCounter,
    lost: PaddedCounter,
}

struct Slot {
    expected: AtomicI64,
    ran: AtomicI64,
}

/// Initial value of slots. Memory that is all zero would be allocated lazily, and cost a page fault at the first wake-up in
/// every page.
pub(crate) const INITIAL: i64 = i64::MIN;

impl Slot {
    fn initial() -> Self {
        Self { expected: AtomicI64::new(INITIAL), ran: AtomicI64::new(INITIAL) }
    }

    #[inline]
    fn store(&self, wakeup: Wakeup) {
        self.expected.store(wakeup.expected.as_nanos(), Ordering::Relaxed);
        self.ran.store(wakeup.ran.as_nanos(), Ordering::Relaxed);
    }

    #[inline]
    fn load(&self) -> Wakeup {
        Wakeup {
            expected: MonotonicTime::from_nanos(self.expected.load(Ordering::Relaxed)),
            ran: MonotonicTime::from_nanos(self.ran.load(Ordering::Relaxed)),
        }
    }
}

/// A counter on a cache line of its own, so that reader and writer do not slow each other.
#[derive(Default)]
#[repr(align(128))]
struct PaddedCounter(AtomicU64);

impl WakeupRing {
    /// A ring for at least `capacity` wake-ups; all its memory is touched.
    pub(crate) fn new(capacity: usize) -> Arc<Self> {
        let slots = (0..capacity.next_power_of_two()).map(|_| Slot::initial()).collect();
        let (written, read, lost) = Default::default();
        Arc::new(Self { slots, written, read, lost })
    }

    #[allow(clippy::cast_possible_truncation, reason = "masked by the capacity")]
    #[inline]
    fn slot_index(&self, number: u64) -> usize {
        number as usize & (self.slots.len() - 1)
    }

    /// Passes the pending wake-ups to `take`; their slots are free again when it returns.
    pub(crate) fn drain(&self, take: impl FnOnce(&PendingWakeups<'_>)) {
        let written = self.written.0.load(Ordering::Acquire);
        let read = self.read.0.load(Ordering::Relaxed);
        if written != read {
            take(&self.pending(read, written));
            self.read.0.store(written, Ordering::Release);
        }
    }

    /// Wake-ups `from` to `until`, of which there are at least one and at most as many as slots.
    fn pending(&self, from: u64, until: u64) -> PendingWakeups<'_> {
        let (from, until) = (self.slot_index(from), self.slot_index(until));
        if from < until {
            return PendingWakeups { slots: [&self.slots[from..until], &[]] };
        }
        PendingWakeups { slots: [&self.slots[from..], &self.slots[..until]] }
    }

    /// Number of wake-ups that did not fit.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.0.load(Ordering::Relaxed)
    }
}

/// Wake-ups that were written but not read: two slices, because the ring wraps around.
pub(crate) struct PendingWakeups<'a> {
    slots: [&'a [Slot]; 2],
}

impl PendingWakeups<'_> {
    /// The wake-ups of each slice, oldest first.
    pub(crate) fn slices(&self) -> [impl Iterator<Item = Wakeup>; 2] {
        self.slots.map(|slots| slots.iter().map(Slot::load))
    }

    /// All wake-ups, oldest first.
    pub(crate) fn wakeups(&self) -> impl Iterator<Item = Wakeup> {
        self.slices().into_iter().flatten()
    }

    /// The most recent one.
    pub(crate) fn last(&self) -> Option<Wakeup> {
        let [first, second] = self.slots;
        second.last().or(first.last()).map(Slot::load)
    }
}

/// The measuring thread's end of a ring.
pub(crate) struct RingWriter {
    ring: Arc<WakeupRing>,
    written: u64,
    /// Cached position of the reader, refreshed only when the ring seems full.
    read: u64,
}

impl RingWriter {
    pub(crate) const fn new(ring: Arc<WakeupRing>) -> Self {
        Self { ring, written: 0, read: 0 }
    }

    /// Stores one wake-up, or counts it as lost.
    #[inline]
    pub(crate) fn push(&mut self, wakeup: Wakeup) {
        if self.written - self.read >= self.ring.slots.len() as u64 && self.is_full() {
            self.ring.lost.0.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.ring.slots[self.ring.slot_index(self.written)].store(wakeup);
        self.written += 1;
        self.ring.written.0.store(self.written, Ordering::Release);
    }

    #[cold]
    fn is_full(&mut self) -> bool {
        self.read = self.ring.read.0.load(Ordering::Acquire);
        self.written - self.read >= self.ring.slots.len() as u64
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;

    /// Sends `sent` wake-ups through a ring of two slots, which is sometimes full, while it is drained twice.
    fn every_order_of(sent: i64) {
        loom::model(move || {
            let ring = WakeupRing::new(2);
            let mut writer = RingWriter::new(Arc::clone(&ring));
            let at = |number: i64| MonotonicTime::from_nanos(number);
            let push = move || {
                (0..sent)
                    .for_each(|number| writer.push(Wakeup { expected: at(number), ran: at(number + 1) }));
            };
            let thread = loom::thread::spawn(push);
            let mut got: Vec<Wakeup> = Vec::new();
            ring.drain(|pending| got.extend(pending.wakeups()));
            ring.drain(|pending| got.extend(pending.wakeups()));
            thread.join().unwrap();
            ring.drain(|pending| got.extend(pending.wakeups()));
            // Both halves belong to one wake-up, and none is duplicated or out of order.
            assert!(got.iter().all(|wakeup| wakeup.ran == at(wakeup.expected.as_nanos() + 1)), "{got:?}");
            assert!(got.windows(2).all(|pair| pair[0].expected < pair[1].expected), "{got:?}");
            assert_eq!(got.len() as u64 + ring.lost(), sent.unsigned_abs());
        });
    }

    /// All orders that loom explores: a load may see every permitted older value, but none that is stored later. So it
    /// does not check the other effect of the release of `read`: slots are read before they are free again.
    #[test]
    fn in_no_order_is_a_wake_up_torn_lost_or_doubled() {
        every_order_of(4);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn wakeup(number: i64) -> Wakeup {
        let expected = MonotonicTime::from_nanos(number);
        Wakeup { expected, ran: MonotonicTime::from_nanos(number + 1) }
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let ring = WakeupRing::new(4);
        let mut writer = RingWriter::new(Arc::clone(&ring));
        (0..7).for_each(|number| writer.push(wakeup(number)));
        let mut got = Vec::new();
        ring.drain(|pending| got.extend(pending.wakeups()));
        assert_eq!(got, (0..4).map(wakeup).collect::<Vec<_>>());
        assert_eq!(ring.lost(), 3);
        writer.push(wakeup(9));
        ring.drain(|pending| got.extend(pending.wakeups()));
        assert_eq!(got.last(), Some(&wakeup(9)));
    }

    #[test]
    fn across_threads_nothing_is_lost_doubled_or_out_of_order() {
        let ring = WakeupRing::new(256);
        let mut writer = RingWriter::new(Arc::clone(&ring));
        // An interpreter takes a thousand times as long.
        let sent = if cfg!(miri) { 300 } else { 200_000 };
        let thread = std::thread::spawn(move || (0..sent).for_each(|number| writer.push(wakeup(number))));
        let mut last = -1;
        let mut count = 0_u64;
        let mut take = |received: Wakeup| {
            assert!(received.expected.as_nanos() > last && received == wakeup(received.expected.as_nanos()));
            last = received.expected.as_nanos();
            count += 1;
        };
        while !thread.is_finished() {
            ring.drain(|pending| pending.wakeups().for_each(&mut take));
        }
        // Only joining guarantees that all its stores are visible.
        thread.join().unwrap();
        ring.drain(|pending| pending.wakeups().for_each(&mut take));
        assert_eq!(count + ring.lost(), sent.unsigned_abs());
    }
}
