//! Endpoints that are one descriptor, with the message's number in 8 bytes.

use std::io;
use std::os::fd::OwnedFd;

use crate::notify::channel::{Await, Endpoint, Notify};

/// Notifies by `write(2)`.
pub(crate) struct WriteEnd {
    descriptor: OwnedFd,
}

impl WriteEnd {
    pub(super) fn new(endpoint: Endpoint) -> io::Result<Self> {
        Ok(Self { descriptor: endpoint.descriptor()? })
    }
}

impl Notify for WriteEnd {
    #[inline]
    fn notify(&mut self, number: u64) -> io::Result<()> {
        rustix::io::write(&self.descriptor, &number.to_ne_bytes())?;
        Ok(())
    }
}

/// Waits in `read(2)`.
pub(crate) struct ReadEnd {
    pub(super) descriptor: OwnedFd,
    pub(super) message: [u8; 8],
}

impl ReadEnd {
    pub(super) fn new(endpoint: Endpoint) -> io::Result<Self> {
        Ok(Self { descriptor: endpoint.descriptor()?, message: [0; 8] })
    }
}

impl Await for ReadEnd {
    #[inline]
    fn wait(&mut self) -> io::Result<()> {
        match rustix::io::read(&self.descriptor, &mut self.message)? {
            8 => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    #[inline]
    fn number(&self) -> u64 {
        u64::from_ne_bytes(self.message)
    }
}
