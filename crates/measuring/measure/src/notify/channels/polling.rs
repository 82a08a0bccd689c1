//! Polls shared memory until the number changes.

use std::hint::spin_loop;
use std::io;
use std::marker::PhantomData;
use std::sync::atomic::Ordering;

use rustix::thread::sched_yield;

use crate::notify::channel::{Await, Channel, Endpoint, Notify};
use crate::notify::shared::Direction;

/// What the receiver does between two readings.
pub(crate) trait PollPause {
    fn pause();
}

/// The CPU's `pause` or `yield` instruction.
pub(crate) struct SpinHint;

impl PollPause for SpinHint {
    #[inline]
    fn pause() {
        spin_loop();
    }
}

/// Reads again at once.
pub(crate) struct NoPause;

impl PollPause for NoPause {
    #[inline]
    fn pause() {}
}

/// `sched_yield(2)`.
pub(crate) struct YieldPause;

impl PollPause for YieldPause {
    #[inline]
    fn pause() {
        sched_yield();
    }
}

pub(crate) struct PollingChannel<B>(PhantomData<B>);

pub(crate) type BusyWaitChannel = PollingChannel<SpinHint>;
pub(crate) type BusyWaitNoPauseChannel = PollingChannel<NoPause>;
pub(crate) type SchedYieldChannel = PollingChannel<YieldPause>;

pub(crate) struct PollingEnd<B> {
    direction: Direction,
    seen: u64,
    pause: PhantomData<B>,
}

impl<B> PollingEnd<B> {
    fn new(endpoint: Endpoint) -> Self {
        Self { direction: endpoint.direction, seen: 0, pause: PhantomData }
    }
}

impl<B: PollPause> Channel for PollingChannel<B> {
    type Sender = PollingEnd<B>;
    type Receiver = PollingEnd<B>;

    fn receiver(endpoint: Endpoint) -> io::Result<PollingEnd<B>> {
        Ok(PollingEnd::new(endpoint))
    }

    fn sender(endpoint: Endpoint) -> io::Result<PollingEnd<B>> {
        Ok(PollingEnd::new(endpoint))
    }
}

impl<B> Notify for PollingEnd<B> {
    #[inline]
    fn notify(&mut self, number: u64) -> io::Result<()> {
        self.direction.announced().store(number, Ordering::Release);
        Ok(())
    }
}

impl<B: PollPause> Await for PollingEnd<B> {
    #[inline]
    fn wait(&mut self) -> io::Result<()> {
        let announced = self.direction.announced();
        loop {
            let now = announced.load(Ordering::Acquire);
            if now != self.seen {
                self.seen = now;
                return Ok(());
            }
            B::pause();
        }
    }

    #[inline]
    fn number(&self) -> u64 {
        self.seen
    }
}
