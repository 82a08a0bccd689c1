//! Wake-ups on their way from a measuring thread to the observer.

use std::sync::Arc;
#[cfg(not(loom))]
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use howlate_model::{MonotonicTime, Wakeup};
#[cfg(loom)]
use loom::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// A ring with one writer and one reader. A wake-up that does not fit is counted as lost.
pub(crate) struct Ring {
    slots: Box<[Slot]>,
    written: OwnLine,
    read: OwnLine,
    lost: OwnLine,
}

struct Slot {
    expected: AtomicI64,
    ran: AtomicI64,
}

/// What slots hold at first. Memory that is to be all zero would come from the kernel untouched, and cost a page fault at
/// the first wake-up in every page.
pub(crate) const UNWRITTEN: i64 = i64::MIN;

impl Slot {
    fn unwritten() -> Self {
        Self { expected: AtomicI64::new(UNWRITTEN), ran: AtomicI64::new(UNWRITTEN) }
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
struct OwnLine(AtomicU64);

impl Ring {
    /// A ring for at least `capacity` wake-ups, all its memory written once.
    pub(crate) fn new(capacity: usize) -> Arc<Self> {
        let slots = (0..capacity.next_power_of_two()).map(|_| Slot::unwritten()).collect();
        let (written, read, lost) = Default::default();
        Arc::new(Self { slots, written, read, lost })
    }

    #[allow(clippy::cast_possible_truncation, reason = "masked by the capacity")]
    #[inline]
    fn place(&self, number: u64) -> usize {
        number as usize & (self.slots.len() - 1)
    }

    /// Hands the wake-ups that have arrived to `take`; their slots are free again when it returns.
    pub(crate) fn drain(&self, take: impl FnOnce(&Arrived<'_>)) {
        let written = self.written.0.load(Ordering::Acquire);
        let read = self.read.0.load(Ordering::Relaxed);
        if written != read {
            take(&self.between(read, written));
            self.read.0.store(written, Ordering::Release);
        }
    }

    /// Wake-ups `from` to `until`, of which there are at least one and at most as many as slots.
    fn between(&self, from: u64, until: u64) -> Arrived<'_> {
        let (from, until) = (self.place(from), self.place(until));
        if from < until {
            return Arrived { slots: [&self.slots[from..until], &[]] };
        }
        Arrived { slots: [&self.slots[from..], &self.slots[..until]] }
    }

    /// How many wake-ups did not fit so far.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.0.load(Ordering::Relaxed)
    }
}

/// Wake-ups that wait in a ring: two stretches of it, because it goes round.
pub(crate) struct Arrived<'a> {
    slots: [&'a [Slot]; 2],
}

impl Arrived<'_> {
    /// The wake-ups of each stretch, oldest first.
    pub(crate) fn stretches(&self) -> [impl Iterator<Item = Wakeup>; 2] {
        self.slots.map(|slots| slots.iter().map(Slot::load))
    }

    /// All wake-ups, oldest first.
    pub(crate) fn wakeups(&self) -> impl Iterator<Item = Wakeup> {
        self.stretches().into_iter().flatten()
    }

    /// The most recent one.
    pub(crate) fn last(&self) -> Option<Wakeup> {
        let [first, second] = self.slots;
        second.last().or(first.last()).map(Slot::load)
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
        self.ring.slots[self.ring.place(self.written)].store(wakeup);
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

    /// Sends so many wake-ups through a ring of two slots, which is full now and then, while they are drained twice.
    fn every_order_of(sent: i64) {
        loom::model(move || {
            let ring = Ring::new(2);
            let mut writer = RingWriter::new(Arc::clone(&ring));
            let at = |number: i64| MonotonicTime::from_nanos(number);
            let push = move || {
                (0..sent)
                    .for_each(|number| writer.push(Wakeup { expected: at(number), ran: at(number + 1) }));
            };
            let thread = loom::thread::spawn(push);
            let mut got: Vec<Wakeup> = Vec::new();
            ring.drain(|arrived| got.extend(arrived.wakeups()));
            ring.drain(|arrived| got.extend(arrived.wakeups()));
            thread.join().unwrap();
            ring.drain(|arrived| got.extend(arrived.wakeups()));
            // Both halves are of one wake-up, and none comes twice or out of turn.
            assert!(got.iter().all(|one| one.ran == at(one.expected.as_nanos() + 1)), "{got:?}");
            assert!(got.windows(2).all(|pair| pair[0].expected < pair[1].expected), "{got:?}");
            assert_eq!(got.len() as u64 + ring.lost(), sent.unsigned_abs());
        });
    }

    /// All orders that loom knows: it lets a load see every older value that it may, but none that is stored later. So
    /// it does not show what else the release of `read` keeps apart: slots are read before they are free again.
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
        let ring = Ring::new(4);
        let mut writer = RingWriter::new(Arc::clone(&ring));
        (0..7).for_each(|number| writer.push(wakeup(number)));
        let mut got = Vec::new();
        ring.drain(|arrived| got.extend(arrived.wakeups()));
        assert_eq!(got, (0..4).map(wakeup).collect::<Vec<_>>());
        assert_eq!(ring.lost(), 3);
        writer.push(wakeup(9));
        ring.drain(|arrived| got.extend(arrived.wakeups()));
        assert_eq!(got.last(), Some(&wakeup(9)));
    }

    #[test]
    fn across_threads_nothing_is_lost_doubled_or_out_of_order() {
        let ring = Ring::new(256);
        let mut writer = RingWriter::new(Arc::clone(&ring));
        // An interpreter takes a thousand times as long.
        let sent = if cfg!(miri) { 300 } else { 200_000 };
        let thread = std::thread::spawn(move || (0..sent).for_each(|number| writer.push(wakeup(number))));
        let mut last = -1;
        let mut count = 0_u64;
        let mut take = |one: Wakeup| {
            assert!(one.expected.as_nanos() > last && one == wakeup(one.expected.as_nanos()));
            last = one.expected.as_nanos();
            count += 1;
        };
        while !thread.is_finished() {
            ring.drain(|arrived| arrived.wakeups().for_each(&mut take));
        }
        // Only joining makes sure that all it stored is seen.
        thread.join().unwrap();
        ring.drain(|arrived| arrived.wakeups().for_each(&mut take));
        assert_eq!(count + ring.lost(), sent.unsigned_abs());
    }
}
