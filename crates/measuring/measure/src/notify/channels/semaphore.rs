//! A POSIX semaphore: `sem_post(3)` and `sem_wait(3)`.

use std::io;
use std::sync::atomic::Ordering;

use howlate_linux::semaphore;

use crate::notify::channel::{Await, Channel, Endpoint, Endpoints, Notify};
use crate::notify::shared::Direction;

pub(crate) struct SemaphoreChannel;

pub(crate) struct SemaphoreEnd {
    direction: Direction,
    semaphore: semaphore::Semaphore,
}

impl SemaphoreEnd {
    fn new(endpoint: Endpoint) -> Self {
        let semaphore =
            semaphore::Semaphore::attach(endpoint.direction.memory.clone(), endpoint.direction.number);
        Self { direction: endpoint.direction, semaphore }
    }
}

impl Channel for SemaphoreChannel {
    type Sender = SemaphoreEnd;
    type Receiver = SemaphoreEnd;

    fn make(direction: &Direction) -> io::Result<Endpoints> {
        semaphore::Semaphore::init(&direction.memory, direction.number, direction.crosses_processes())?;
        Ok(Endpoints::default())
    }

    fn receiver(endpoint: Endpoint) -> io::Result<SemaphoreEnd> {
        Ok(SemaphoreEnd::new(endpoint))
    }

    fn sender(endpoint: Endpoint) -> io::Result<SemaphoreEnd> {
        Ok(SemaphoreEnd::new(endpoint))
    }
}

impl Notify for SemaphoreEnd {
    #[inline]
    fn prepare(&mut self, number: u64) {
        self.direction.announce(number);
    }

    #[inline]
    fn notify(&mut self, _: u64) -> io::Result<()> {
        self.semaphore.post()
    }
}

impl Await for SemaphoreEnd {
    #[inline]
    fn wait(&mut self) -> io::Result<()> {
        self.semaphore.wait()
    }

    #[inline]
    fn number(&self) -> u64 {
        self.direction.announced().load(Ordering::Acquire)
    }
}
