//! A POSIX message queue, whose name is gone before it is used.

use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};

use howlate_linux::message_queue::{create_unlinked, receive, send};

use crate::notify::channel::{Await, Channel, Endpoint, Endpoints, Notify};
use crate::notify::shared::Direction;

pub(crate) struct PosixMq;

pub(crate) struct End {
    queue: OwnedFd,
    message: [u8; 8],
}

impl End {
    fn new(endpoint: Endpoint) -> io::Result<Self> {
        Ok(Self { queue: endpoint.descriptor()?, message: [0; 8] })
    }
}

impl Channel for PosixMq {
    type Sender = End;
    type Receiver = End;

    fn make(_: &Direction) -> io::Result<Endpoints> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let one = MADE.fetch_add(1, Ordering::Relaxed);
        let name = CString::new(format!("/howlate-{}-{one}", std::process::id()))?;
        let queue = create_unlinked(&name)?;
        Ok(Endpoints::new(queue.try_clone()?, queue))
    }

    fn receiver(endpoint: Endpoint) -> io::Result<End> {
        End::new(endpoint)
    }

    fn sender(endpoint: Endpoint) -> io::Result<End> {
        End::new(endpoint)
    }
}

impl Notify for End {
    #[inline]
    fn notify(&mut self, number: u64) -> io::Result<()> {
        send(&self.queue, number.to_ne_bytes())
    }
}

impl Await for End {
    #[inline]
    fn wait(&mut self) -> io::Result<()> {
        self.message = receive(&self.queue)?;
        Ok(())
    }

    #[inline]
    fn number(&self) -> u64 {
        u64::from_ne_bytes(self.message)
    }
}
