//! `socketpair(2)`, in its three types.

use std::io;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::descriptor::{Reading, Writing};
use crate::notify::channel::{Channel, Ends, Kit};
use crate::notify::lane::Lane;

/// A pair of sockets of type `KIND`: `SOCK_STREAM`, `SOCK_DGRAM` or `SOCK_SEQPACKET`.
pub(crate) struct Socketpair<const KIND: u32>;

pub(crate) type SocketpairStream = Socketpair<{ SocketType::STREAM.as_raw() }>;
pub(crate) type SocketpairDgram = Socketpair<{ SocketType::DGRAM.as_raw() }>;
pub(crate) type SocketpairSeqpacket = Socketpair<{ SocketType::SEQPACKET.as_raw() }>;

impl<const KIND: u32> Channel for Socketpair<KIND> {
    type Sender = Writing;
    type Receiver = Reading;

    fn make(_: &Lane) -> io::Result<Ends> {
        let kind = SocketType::from_raw(KIND);
        let (writing, reading) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
        Ok(Ends::of(writing, reading))
    }

    fn receiver(kit: Kit) -> io::Result<Reading> {
        Reading::new(kit)
    }

    fn sender(kit: Kit) -> io::Result<Writing> {
        Writing::new(kit)
    }
}
