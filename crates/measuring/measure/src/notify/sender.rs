//! The one that notifies: sleeps, notes the time, notifies.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use howlate_linux::clock;
use howlate_model::{MonotonicTime, Span};
use rustix::thread::sched_yield;

use super::channel::{Await, Notify};
use super::shared::{Arrivals, END};
use crate::loops::Stop;
use crate::ring::UNWRITTEN;

/// How long the sender waits for the receiver before it takes a message for lost.
const PATIENCE: Span = Span::from_secs(1);
/// After so many lost messages in a row, nobody is taken to listen.
const MOST_LOST_IN_A_ROW: u32 = 3;
/// While the receiver has not come back, the sender looks again after at least this.
const LEAST_NAP: Span = Span::from_micros(20);

/// The sender's stamps of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Before it notified.
    pub(crate) sent: MonotonicTime,
    /// When the call had returned.
    pub(crate) returned: MonotonicTime,
    /// When the answer was there; the same as `returned` without one.
    pub(crate) answered: MonotonicTime,
}

/// The stamps of all messages of a turn, written by the sender and read by the observer.
pub(crate) struct SentLog {
    stamps: Box<[[AtomicI64; 3]]>,
    written: AtomicU64,
}

impl SentLog {
    /// Room for `count` messages, all of it written once.
    pub(crate) fn new(count: usize) -> Arc<Self> {
        let stamps = (0..count).map(|_| [const { AtomicI64::new(UNWRITTEN) }; 3]).collect();
        Arc::new(Self { stamps, written: AtomicU64::new(0) })
    }

    /// Stores the stamps of message `number`; they come in order, from 1.
    #[allow(clippy::cast_possible_truncation, reason = "below the length of memory")]
    #[inline]
    fn store(&self, number: u64, sent: &Sent) {
        let [first, second, third] = &self.stamps[number as usize - 1];
        first.store(sent.sent.as_nanos(), Ordering::Relaxed);
        second.store(sent.returned.as_nanos(), Ordering::Relaxed);
        third.store(sent.answered.as_nanos(), Ordering::Relaxed);
        self.written.store(number, Ordering::Release);
    }

    /// How many messages were sent.
    pub(crate) fn count(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    /// The stamps of message `number`, from 1 to [`SentLog::count`].
    pub(crate) fn get(&self, number: u64) -> Option<Sent> {
        let stamps = self.stamps.get(usize::try_from(number.checked_sub(1)?).ok()?)?;
        let [sent, returned, answered] =
            stamps.each_ref().map(|stamp| MonotonicTime::from_nanos(stamp.load(Ordering::Relaxed)));
        Some(Sent { sent, returned, answered })
    }
}

/// How the sender learns that its message was answered.
pub(crate) trait Answer {
    /// The time when the answer to message `number` was there; `returned` when none is awaited.
    fn wait(&mut self, number: u64, returned: MonotonicTime) -> io::Result<MonotonicTime>;
}

/// One way only.
pub(crate) struct NoAnswer;

impl Answer for NoAnswer {
    #[inline]
    fn wait(&mut self, _: u64, returned: MonotonicTime) -> io::Result<MonotonicTime> {
        Ok(returned)
    }
}

/// A round trip: the receiver notifies back.
pub(crate) struct Answered<R> {
    pub(crate) receiver: R,
    pub(crate) stop: Stop,
}

impl<R: Await> Answer for Answered<R> {
    #[inline]
    fn wait(&mut self, number: u64, _: MonotonicTime) -> io::Result<MonotonicTime> {
        loop {
            match self.receiver.wait() {
                // An answer to an earlier message, which was given up.
                Ok(()) if self.receiver.number() < number => {}
                Ok(()) if self.receiver.number() == END => return Err(io::ErrorKind::Interrupted.into()),
                Ok(()) => return Ok(clock::now()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted && !self.stop.is_asked() => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// What the sender is to do.
pub(crate) struct Sending {
    pub(crate) gap: Span,
    /// Whether the receiver waits for this very CPU.
    pub(crate) shares_cpu: bool,
    pub(crate) count: u64,
    pub(crate) arrivals: Arrivals,
    pub(crate) log: Arc<SentLog>,
    pub(crate) stop: Stop,
}

impl Sending {
    /// Sends all messages, or until stopped; returns how many. The receiver has had its time for the last of them
    /// then, so that whatever is announced next takes no message's place.
    pub(crate) fn run(&self, sender: &mut impl Notify, answer: &mut impl Answer) -> io::Result<u64> {
        let result = self.send_all(sender, answer);
        self.await_last();
        result
    }

    fn send_all(&self, sender: &mut impl Notify, answer: &mut impl Answer) -> io::Result<u64> {
        let mut lost_in_a_row = 0;
        for number in 1..=self.count {
            if !self.sleep(self.gap) || !self.is_received(number - 1, &mut lost_in_a_row)? {
                return Ok(number - 1);
            }
            sender.prepare(number);
            let sent = clock::now();
            sender.notify(number)?;
            let returned = clock::now();
            match answer.wait(number, returned) {
                Ok(answered) => self.log.store(number, &Sent { sent, returned, answered }),
                Err(_) if self.stop.is_asked() => return Ok(number - 1),
                Err(error) => return Err(error),
            }
            if self.shares_cpu {
                // Let it run before the timer of the next gap is set, which takes long in a guest.
                sched_yield();
            }
        }
        self.is_received(self.count, &mut lost_in_a_row)?;
        Ok(self.count)
    }

    /// Sleeps; `false` when the run was stopped meanwhile.
    #[inline]
    fn sleep(&self, span: Span) -> bool {
        while clock::sleep_for(span).is_err() {
            if self.stop.is_asked() {
                return false;
            }
        }
        !self.stop.is_asked()
    }

    /// Sees to it that the receiver is done with the last message, so that no two merge.
    /// `false` when the run was stopped.
    #[inline]
    fn is_received(&self, last: u64, lost_in_a_row: &mut u32) -> io::Result<bool> {
        if self.arrivals.most_recent() >= last {
            *lost_in_a_row = 0;
            return Ok(true);
        }
        self.await_receiver(last, lost_in_a_row)
    }

    /// A stop may have come while the last message was on its way.
    fn await_last(&self) {
        let give_up = clock::now().plus(PATIENCE);
        let last = self.log.count();
        while self.stop.is_asked() && self.arrivals.most_recent() < last && clock::now() < give_up {
            // A signal, which only says that the run was stopped, shortens the nap.
            drop(clock::sleep_for(LEAST_NAP));
        }
    }

    #[cold]
    fn await_receiver(&self, last: u64, lost_in_a_row: &mut u32) -> io::Result<bool> {
        let give_up = clock::now().plus(PATIENCE);
        while clock::now() < give_up {
            if !self.sleep(self.gap.clamp(LEAST_NAP, PATIENCE)) {
                return Ok(false);
            }
            if self.arrivals.most_recent() >= last {
                *lost_in_a_row = 0;
                return Ok(self.sleep(self.gap));
            }
        }
        *lost_in_a_row += 1;
        if *lost_in_a_row < MOST_LOST_IN_A_ROW {
            return Ok(true);
        }
        let text = format!(
            "the receiver took none of {MOST_LOST_IN_A_ROW} notifications in a row within {PATIENCE} each"
        );
        Err(io::Error::new(io::ErrorKind::TimedOut, text))
    }
}
