//! A POSIX semaphore: `sem_post(3)` and `sem_wait(3)`.

use std::io;
use std::sync::atomic::Ordering;

use howlate_linux::semaphore;

use crate::notify::channel::{Await, Channel, Endpoint, Endpoints, Notify};
use crate::notify::shared::Direction;

pub(crate) struct Semaphore;

pub(crate) struct End {
    direction: Direction,
    semaphore: semaphore::Semaphore,
}

impl End {
    fn new(endpoint: Endpoint) -> Self {
        let semaphore =
            semaphore::Semaphore::attach(endpoint.direction.memory.clone(), endpoint.direction.number);
        Self { direction: endpoint.direction, semaphore }
    }
}

impl Channel for Semaphore {
    type Sender = End;
    type Receiver = End;

    fn make(direction: &Direction) -> io::Result<Endpoints> {
        semaphore::Semaphore::init(&direction.memory, direction.number, direction.crosses_processes())?;
        Ok(Endpoints::default())
    }

    fn receiver(endpoint: Endpoint) -> io::Result<End> {
        Ok(End::new(endpoint))
    }

    fn sender(endpoint: Endpoint) -> io::Result<End> {
        Ok(End::new(endpoint))
    }
}

impl Notify for End {
    #[inline]
    fn prepare(&mut self, number: u64) {
        self.direction.announce(number);
    }

    #[inline]
    fn notify(&mut self, _: u64) -> io::Result<()> {
        self.semaphore.post()
    }
}

impl Await for End {
    #[inline]
    fn wait(&mut self) -> io::Result<()> {
        self.semaphore.wait()
    }

    #[inline]
    fn number(&self) -> u64 {
        self.direction.announced().load(Ordering::Acquire)
    }
}
