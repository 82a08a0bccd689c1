//! A System V message queue: `msgsnd(2)` and `msgrcv(2)`.

use std::io;

use howlate_linux::sysv::{receive, send};

use crate::notify::channel::{Await, Channel, Endpoint, Endpoints, Notify};
use crate::notify::shared::Direction;
use crate::notify::sysv_cleanup::{SysvCleanup, SysvKind};

pub(crate) struct SysvMqChannel;

pub(crate) struct SysvMqEnd {
    id: i32,
    number: u64,
}

impl SysvMqEnd {
    fn new(endpoint: &Endpoint) -> io::Result<Self> {
        Ok(Self { id: endpoint.id()?, number: 0 })
    }
}

impl Channel for SysvMqChannel {
    type Sender = SysvMqEnd;
    type Receiver = SysvMqEnd;

    fn make(_: &Direction) -> io::Result<Endpoints> {
        Ok(Endpoints { sysv_cleanup: Some(SysvCleanup::start(SysvKind::Queue)?), ..Endpoints::default() })
    }

    fn receiver(endpoint: Endpoint) -> io::Result<SysvMqEnd> {
        SysvMqEnd::new(&endpoint)
    }

    fn sender(endpoint: Endpoint) -> io::Result<SysvMqEnd> {
        SysvMqEnd::new(&endpoint)
    }
}

impl Notify for SysvMqEnd {
    #[inline]
    fn notify(&mut self, number: u64) -> io::Result<()> {
        send(self.id, number)
    }
}

impl Await for SysvMqEnd {
    #[inline]
    fn wait(&mut self) -> io::Result<()> {
        self.number = receive(self.id)?;
        Ok(())
    }

    #[inline]
    fn number(&self) -> u64 {
        self.number
    }
}
