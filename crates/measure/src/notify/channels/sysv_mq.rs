//! A System V message queue: `msgsnd(2)` and `msgrcv(2)`.

use std::io;

use howlate_linux::sysv::{receive, send};

use crate::notify::channel::{Await, Channel, Ends, Kit, Notify};
use crate::notify::janitor::{Janitor, Kind};
use crate::notify::lane::Lane;

pub(crate) struct SysvMq;

pub(crate) struct End {
    id: i32,
    number: u64,
}

impl End {
    fn new(kit: &Kit) -> io::Result<Self> {
        Ok(Self { id: kit.id()?, number: 0 })
    }
}

impl Channel for SysvMq {
    type Sender = End;
    type Receiver = End;

    fn make(_: &Lane) -> io::Result<Ends> {
        Ok(Ends { janitor: Some(Janitor::start(Kind::Queue)?), ..Ends::default() })
    }

    fn receiver(kit: Kit) -> io::Result<End> {
        End::new(&kit)
    }

    fn sender(kit: Kit) -> io::Result<End> {
        End::new(&kit)
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
