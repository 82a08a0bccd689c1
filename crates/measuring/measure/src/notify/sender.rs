//! The sender: sleeps, reads the clock, notifies.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use howlate_linux::clock;
use howlate_model::{MonotonicTime, Span};
use rustix::thread::sched_yield;

use super::channel::{Await, Notify};
use super::shared::{Arrivals, END};
use crate::loops::Stop;
use crate::ring::INITIAL;

/// How long the sender waits for the receiver before a message counts as lost.
const RECEIVE_TIMEOUT: Span = Span::from_secs(1);
/// After this many consecutive lost messages, the receiver counts as dead.
const MAX_CONSECUTIVE_LOST: u32 = 3;
/// Minimum interval at which the sender checks for the receiver.
const MIN_CHECK_INTERVAL: Span = Span::from_micros(20);

/// The sender's stamps of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SentStamps {
    /// Before the notifying call.
    pub(crate) sent: MonotonicTime,
    /// When the call returned.
    pub(crate) returned: MonotonicTime,
    /// When the answer arrived; equal to `returned` without one.
    pub(crate) answered: MonotonicTime,
}

/// The stamps of all messages of a turn, written by the sender and read by the observer.
pub(crate) struct SentLog {
    stamps: Box<[[AtomicI64; 3]]>,
    written: AtomicU64,
}

impl SentLog {
    /// For `count` messages; all memory is touched.
    pub(crate) fn new(count: usize) -> Arc<Self> {
        let stamps = (0..count).map(|_| [const { AtomicI64::new(INITIAL) }; 3]).collect();
        Arc::new(Self { stamps, written: AtomicU64::new(0) })
    }

    /// Stores the stamps of message `number`; they come in order, from 1.
    #[allow(clippy::cast_possible_truncation, reason = "below the length of memory")]
    #[inline]
    fn store(&self, number: u64, sent: &SentStamps) {
        let [first, second, third] = &self.stamps[number as usize - 1];
        first.store(sent.sent.as_nanos(), Ordering::Relaxed);
        second.store(sent.returned.as_nanos(), Ordering::Relaxed);
        third.store(sent.answered.as_nanos(), Ordering::Relaxed);
        self.written.store(number, Ordering::Release);
    }

    /// Number of messages sent.
    pub(crate) fn count(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    /// The stamps of message `number`, from 1 to [`SentLog::count`].
    pub(crate) fn get(&self, number: u64) -> Option<SentStamps> {
        let stamps = self.stamps.get(usize::try_from(number.checked_sub(1)?).ok()?)?;
        let [sent, returned, answered] =
            stamps.each_ref().map(|stamp| MonotonicTime::from_nanos(stamp.load(Ordering::Relaxed)));
        Some(SentStamps { sent, returned, answered })
    }
}

/// Waits for the answer to a message.
pub(crate) trait AnswerWait {
    /// The arrival time of the answer to message `number`; `returned` when none is expected.
    fn wait(&mut self, number: u64, returned: MonotonicTime) -> io::Result<MonotonicTime>;
}

/// One way only.
pub(crate) struct NoAnswer;

impl AnswerWait for NoAnswer {
    #[inline]
    fn wait(&mut self, _: u64, returned: MonotonicTime) -> io::Result<MonotonicTime> {
        Ok(returned)
    }
}

/// A round trip: the receiver answers each message.
pub(crate) struct AwaitAnswer<R> {
    pub(crate) receiver: R,
    pub(crate) stop: Stop,
}

impl<R: Await> AnswerWait for AwaitAnswer<R> {
    #[inline]
    fn wait(&mut self, number: u64, _: MonotonicTime) -> io::Result<MonotonicTime> {
        loop {
            match self.receiver.wait() {
                // The answer to an earlier message that counts as lost.
                Ok(()) if self.receiver.number() < number => {}
                Ok(()) if self.receiver.number() == END => return Err(io::ErrorKind::Interrupted.into()),
                Ok(()) => return Ok(clock::now()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted && !self.stop.is_requested() => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// The measured loop.
pub(crate) struct SenderLoop {
    pub(crate) gap: Span,
    /// Whether the receiver runs on the same CPU.
    pub(crate) shares_cpu: bool,
    pub(crate) count: u64,
    pub(crate) arrivals: Arrivals,
    pub(crate) log: Arc<SentLog>,
    pub(crate) stop: Stop,
}

impl SenderLoop {
    /// Sends all messages, or until stopped; returns their number. Waits for the receipt of the last one, so that the
    /// next announcement does not replace it.
    pub(crate) fn run(&self, sender: &mut impl Notify, answer: &mut impl AnswerWait) -> io::Result<u64> {
        let result = self.send_all(sender, answer);
        self.await_last();
        result
    }

    fn send_all(&self, sender: &mut impl Notify, answer: &mut impl AnswerWait) -> io::Result<u64> {
        let mut consecutive_lost = 0;
        for number in 1..=self.count {
            if !self.sleep(self.gap) || !self.is_received(number - 1, &mut consecutive_lost)? {
                return Ok(number - 1);
            }
            sender.prepare(number);
            let sent = clock::now();
            sender.notify(number)?;
            let returned = clock::now();
            match answer.wait(number, returned) {
                Ok(answered) => self.log.store(number, &SentStamps { sent, returned, answered }),
                Err(_) if self.stop.is_requested() => return Ok(number - 1),
                Err(error) => return Err(error),
            }
            if self.shares_cpu {
                // Let the receiver run before the timer of the next gap is armed, which takes long in a guest.
                sched_yield();
            }
        }
        self.is_received(self.count, &mut consecutive_lost)?;
        Ok(self.count)
    }

    /// Sleeps; `false` when the run was stopped meanwhile.
    #[inline]
    fn sleep(&self, span: Span) -> bool {
        while clock::sleep_for(span).is_err() {
            if self.stop.is_requested() {
                return false;
            }
        }
        !self.stop.is_requested()
    }

    /// Waits until the receiver is done with the last message, so that no two merge.
    /// `false` when the run was stopped.
    #[inline]
    fn is_received(&self, last: u64, consecutive_lost: &mut u32) -> io::Result<bool> {
        if self.arrivals.most_recent() >= last {
            *consecutive_lost = 0;
            return Ok(true);
        }
        self.await_receiver(last, consecutive_lost)
    }

    /// After a stop, waits for a message that is still in flight.
    fn await_last(&self) {
        let give_up = clock::now().plus(RECEIVE_TIMEOUT);
        let last = self.log.count();
        while self.stop.is_requested() && self.arrivals.most_recent() < last && clock::now() < give_up {
            // A signal, which only requests the stop, shortens the sleep.
            drop(clock::sleep_for(MIN_CHECK_INTERVAL));
        }
    }

    #[cold]
    fn await_receiver(&self, last: u64, consecutive_lost: &mut u32) -> io::Result<bool> {
        let give_up = clock::now().plus(RECEIVE_TIMEOUT);
        while clock::now() < give_up {
            if !self.sleep(self.gap.clamp(MIN_CHECK_INTERVAL, RECEIVE_TIMEOUT)) {
                return Ok(false);
            }
            if self.arrivals.most_recent() >= last {
                *consecutive_lost = 0;
                return Ok(self.sleep(self.gap));
            }
        }
        *consecutive_lost += 1;
        if *consecutive_lost < MAX_CONSECUTIVE_LOST {
            return Ok(true);
        }
        let text = format!(
            "the receiver took none of {MAX_CONSECUTIVE_LOST} notifications in a row within {RECEIVE_TIMEOUT} each"
        );
        Err(io::Error::new(io::ErrorKind::TimedOut, text))
    }
}
