//! `socketpair(2)`, in its three types.

use std::io;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::descriptor::{Reading, Writing};
use crate::notify::channel::{Channel, Endpoint, Endpoints};
use crate::notify::shared::Direction;

/// A pair of sockets of type `KIND`: `SOCK_STREAM`, `SOCK_DGRAM` or `SOCK_SEQPACKET`.
pub(crate) struct Socketpair<const KIND: u32>;

pub(crate) type SocketpairStream = Socketpair<{ SocketType::STREAM.as_raw() }>;
pub(crate) type SocketpairDgram = Socketpair<{ SocketType::DGRAM.as_raw() }>;
pub(crate) type SocketpairSeqpacket = Socketpair<{ SocketType::SEQPACKET.as_raw() }>;

impl<const KIND: u32> Channel for Socketpair<KIND> {
    type Sender = Writing;
    type Receiver = Reading;

    fn make(_: &Direction) -> io::Result<Endpoints> {
        let kind = SocketType::from_raw(KIND);
        let (writing, reading) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
        Ok(Endpoints::new(writing, reading))
    }

    fn receiver(endpoint: Endpoint) -> io::Result<Reading> {
        Reading::new(endpoint)
    }

    fn sender(endpoint: Endpoint) -> io::Result<Writing> {
        Writing::new(endpoint)
    }
}
