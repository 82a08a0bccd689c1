//! Wake-ups on their way from a measuring thread to the observer.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use howlate_model::{MonotonicTime, Wakeup};

/// A ring with one writer and one reader. A wake-up that does not fit is counted as lost.
pub(crate) struct Ring {
    slots: Box<[Slot]>,
    written: OwnLine,
    read: OwnLine,
    lost: OwnLine,
}

#[derive(Default)]
struct Slot {
    expected: AtomicI64,
    ran: AtomicI64,
}

/// A counter on a cache line of its own, so that reader and writer do not slow each other.
#[derive(Default)]
#[repr(align(128))]
struct OwnLine(AtomicU64);

impl Ring {
    /// A ring for at least `capacity` wake-ups, all its memory touched.
    pub(crate) fn new(capacity: usize) -> Arc<Self> {
        let slots = (0..capacity.next_power_of_two()).map(|_| Slot::default()).collect();
        let (written, read, lost) = Default::default();
        Arc::new(Self { slots, written, read, lost })
    }

    #[allow(clippy::cast_possible_truncation, reason = "masked by the capacity")]
    #[inline]
    fn slot(&self, number: u64) -> &Slot {
        &self.slots[number as usize & (self.slots.len() - 1)]
    }

    /// Hands every wake-up that has arrived to `take`, oldest first.
    pub(crate) fn drain(&self, mut take: impl FnMut(Wakeup)) {
        let written = self.written.0.load(Ordering::Acquire);
        let read = self.read.0.load(Ordering::Relaxed);
        for number in read..written {
            let slot = self.slot(number);
            take(Wakeup {
                expected: MonotonicTime::from_nanos(slot.expected.load(Ordering::Relaxed)),
                ran: MonotonicTime::from_nanos(slot.ran.load(Ordering::Relaxed)),
            });
        }
        self.read.0.store(written, Ordering::Release);
    }

    /// How many wake-ups did not fit so far.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.0.load(Ordering::Relaxed)
    }
}

/// The measuring thread's end of a ring.
pub(crate) struct RingWriter {
    ring: Arc<Ring>,
    written: u64,
    /// Where the reader was when last looked at; looked at again only when the ring seems full.
    read: u64,
}

impl RingWriter {
    pub(crate) const fn new(ring: Arc<Ring>) -> Self {
        Self { ring, written: 0, read: 0 }
    }

    /// Stores one wake-up, or counts it as lost.
    #[inline]
    pub(crate) fn push(&mut self, wakeup: Wakeup) {
        if self.written - self.read >= self.ring.slots.len() as u64 && self.is_full() {
            self.ring.lost.0.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let slot = self.ring.slot(self.written);
        slot.expected.store(wakeup.expected.as_nanos(), Ordering::Relaxed);
        slot.ran.store(wakeup.ran.as_nanos(), Ordering::Relaxed);
        self.written += 1;
        self.ring.written.0.store(self.written, Ordering::Release);
    }

    #[cold]
    fn is_full(&mut self) -> bool {
        self.read = self.ring.read.0.load(Ordering::Acquire);
        self.written - self.read >= self.ring.slots.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wakeup(number: i64) -> Wakeup {
        let expected = MonotonicTime::from_nanos(number);
        Wakeup { expected, ran: MonotonicTime::from_nanos(number + 1) }
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let ring = Ring::new(4);
        let mut writer = RingWriter::new(Arc::clone(&ring));
        (0..7).for_each(|number| writer.push(wakeup(number)));
        let mut got = Vec::new();
        ring.drain(|one| got.push(one));
        assert_eq!(got, (0..4).map(wakeup).collect::<Vec<_>>());
        assert_eq!(ring.lost(), 3);
        writer.push(wakeup(9));
        ring.drain(|one| got.push(one));
        assert_eq!(got.last(), Some(&wakeup(9)));
    }

    #[test]
    fn across_threads_nothing_is_lost_doubled_or_out_of_order() {
        let ring = Ring::new(256);
        let mut writer = RingWriter::new(Arc::clone(&ring));
        let sent = 200_000;
        let thread = std::thread::spawn(move || (0..sent).for_each(|number| writer.push(wakeup(number))));
        let mut last = -1;
        let mut count = 0_u64;
        let mut take = |one: Wakeup| {
            assert!(one.expected.as_nanos() > last && one == wakeup(one.expected.as_nanos()));
            last = one.expected.as_nanos();
            count += 1;
        };
        while !thread.is_finished() {
            ring.drain(&mut take);
        }
        ring.drain(&mut take);
        assert_eq!(count + ring.lost(), sent.unsigned_abs());
    }
}
