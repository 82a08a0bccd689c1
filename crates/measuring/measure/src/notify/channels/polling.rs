//! Reading shared memory again and again, until the number changes.

use std::hint::spin_loop;
use std::io;
use std::marker::PhantomData;
use std::sync::atomic::Ordering;

use rustix::thread::sched_yield;

use crate::notify::channel::{Await, Channel, Endpoint, Notify};
use crate::notify::shared::Direction;

/// What the receiver does between two readings.
pub(crate) trait Between {
    fn between();
}

/// The processor's `pause` or `yield`.
pub(crate) struct Pause;

impl Between for Pause {
    #[inline]
    fn between() {
        spin_loop();
    }
}

/// Looks again at once.
pub(crate) struct Nothing;

impl Between for Nothing {
    #[inline]
    fn between() {}
}

/// Waits by `sched_yield(2)` between two looks.
pub(crate) struct Yield;

impl Between for Yield {
    #[inline]
    fn between() {
        sched_yield();
    }
}

pub(crate) struct Polling<B>(PhantomData<B>);

pub(crate) type BusyWait = Polling<Pause>;
pub(crate) type BusyWaitNoPause = Polling<Nothing>;
pub(crate) type SchedYield = Polling<Yield>;

pub(crate) struct End<B> {
    direction: Direction,
    seen: u64,
    between: PhantomData<B>,
}

impl<B> End<B> {
    fn new(endpoint: Endpoint) -> Self {
        Self { direction: endpoint.direction, seen: 0, between: PhantomData }
    }
}

impl<B: Between> Channel for Polling<B> {
    type Sender = End<B>;
    type Receiver = End<B>;

    fn receiver(endpoint: Endpoint) -> io::Result<End<B>> {
        Ok(End::new(endpoint))
    }

    fn sender(endpoint: Endpoint) -> io::Result<End<B>> {
        Ok(End::new(endpoint))
    }
}

impl<B> Notify for End<B> {
    #[inline]
    fn notify(&mut self, number: u64) -> io::Result<()> {
        self.direction.announced().store(number, Ordering::Release);
        Ok(())
    }
}

impl<B: Between> Await for End<B> {
    #[inline]
    fn wait(&mut self) -> io::Result<()> {
        let announced = self.direction.announced();
        loop {
            let now = announced.load(Ordering::Acquire);
            if now != self.seen {
                self.seen = now;
                return Ok(());
            }
            B::between();
        }
    }

    #[inline]
    fn number(&self) -> u64 {
        self.seen
    }
}
