//! A System V message queue: `msgsnd(2)` and `msgrcv(2)`.

use std::io;

use howlate_linux::sysv::{receive, send};

use crate::notify::channel::{Await, Channel, Endpoint, Endpoints, Notify};
use crate::notify::shared::Direction;
use crate::notify::sysv_cleanup::{Janitor, SysvKind};

pub(crate) struct SysvMq;

pub(crate) struct End {
    id: i32,
    number: u64,
}

impl End {
    fn new(endpoint: &Endpoint) -> io::Result<Self> {
        Ok(Self { id: endpoint.id()?, number: 0 })
    }
}

impl Channel for SysvMq {
    type Sender = End;
    type Receiver = End;

    fn make(_: &Direction) -> io::Result<Endpoints> {
        Ok(Endpoints { janitor: Some(Janitor::start(SysvKind::Queue)?), ..Endpoints::default() })
    }

    fn receiver(endpoint: Endpoint) -> io::Result<End> {
        End::new(&endpoint)
    }

    fn sender(endpoint: Endpoint) -> io::Result<End> {
        End::new(&endpoint)
    }
}

impl Notify for End {
    #[inline]
    fn notify(&mut self, number: u64) -> io::Result<()> {
        send(self.id, number)
    }
}

impl Await for End {
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
