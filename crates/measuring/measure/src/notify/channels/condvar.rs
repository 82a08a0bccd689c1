//! A condition variable: the number changes under the mutex, then `pthread_cond_signal(3)`.

use std::io;
use std::sync::atomic::Ordering;

use howlate_linux::condition_variable::ConditionVariable;

use crate::notify::channel::{Await, Channel, Endpoint, Endpoints, Notify};
use crate::notify::shared::Direction;

pub(crate) struct CondvarChannel;

pub(crate) struct CondvarEnd {
    direction: Direction,
    variable: ConditionVariable,
    seen: u64,
}

impl CondvarEnd {
    fn new(endpoint: Endpoint) -> Self {
        let variable =
            ConditionVariable::attach(endpoint.direction.memory.clone(), endpoint.direction.number);
        Self { direction: endpoint.direction, variable, seen: 0 }
    }
}

impl Channel for CondvarChannel {
    type Sender = CondvarEnd;
    type Receiver = CondvarEnd;

    fn make(direction: &Direction) -> io::Result<Endpoints> {
        ConditionVariable::init(&direction.memory, direction.number, direction.crosses_processes())?;
        Ok(Endpoints::default())
    }

    fn receiver(endpoint: Endpoint) -> io::Result<CondvarEnd> {
        Ok(CondvarEnd::new(endpoint))
    }

    fn sender(endpoint: Endpoint) -> io::Result<CondvarEnd> {
        Ok(CondvarEnd::new(endpoint))
    }
}

impl Notify for CondvarEnd {
    #[inline]
    fn notify(&mut self, number: u64) -> io::Result<()> {
        let announced = self.direction.announced();
        self.variable.signal_after(|| announced.store(number, Ordering::Relaxed))
    }
}

impl Await for CondvarEnd {
    #[inline]
    fn wait(&mut self) -> io::Result<()> {
        let (announced, seen) = (self.direction.announced(), self.seen);
        self.variable.wait_until(|| announced.load(Ordering::Relaxed) != seen)?;
        self.seen = announced.load(Ordering::Relaxed);
        Ok(())
    }

    #[inline]
    fn number(&self) -> u64 {
        self.seen
    }
}
