//! A POSIX message queue, whose name is removed before it is used.

use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};

use howlate_linux::message_queue::{create_unlinked, receive, send};

use crate::notify::channel::{Await, Channel, Endpoint, Endpoints, Notify};
use crate::notify::shared::Direction;

pub(crate) struct PosixMqChannel;

pub(crate) struct PosixMqEnd {
    queue: OwnedFd,
    message: [u8; 8],
}

impl PosixMqEnd {
    fn new(endpoint: Endpoint) -> io::Result<Self> {
        Ok(Self { queue: endpoint.descriptor()?, message: [0; 8] })
    }
}

impl Channel for PosixMqChannel {
    type Sender = PosixMqEnd;
    type Receiver = PosixMqEnd;

    fn make(_: &Direction) -> io::Result<Endpoints> {
        static CREATED: AtomicU32 = AtomicU32::new(0);
        let number = CREATED.fetch_add(1, Ordering::Relaxed);
        let name = CString::new(format!("/howlate-{}-{number}", std::process::id()))?;
        let queue = create_unlinked(&name)?;
        Ok(Endpoints::new(queue.try_clone()?, queue))
    }

    fn receiver(endpoint: Endpoint) -> io::Result<PosixMqEnd> {
        PosixMqEnd::new(endpoint)
    }

    fn sender(endpoint: Endpoint) -> io::Result<PosixMqEnd> {
        PosixMqEnd::new(endpoint)
    }
}

impl Notify for PosixMqEnd {
    #[inline]
    fn notify(&mut self, number: u64) -> io::Result<()> {
        send(&self.queue, number.to_ne_bytes())
    }
}

impl Await for PosixMqEnd {
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
