//! Sockets: `socketpair(2)`, `unix(7)`, `tcp(7)` and `udp(7)`.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};

use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, getsockname, listen,
    socket_with, socketpair,
};

use super::descriptor::{ReadEnd, WriteEnd};
use crate::notify::channel::{Channel, Endpoint, Endpoints};
use crate::notify::shared::Direction;

/// A pair of sockets of type `KIND`: `SOCK_STREAM`, `SOCK_DGRAM` or `SOCK_SEQPACKET`.
pub(crate) struct SocketpairChannel<const KIND: u32>;

pub(crate) type SocketpairStreamChannel = SocketpairChannel<{ SocketType::STREAM.as_raw() }>;
pub(crate) type SocketpairDgramChannel = SocketpairChannel<{ SocketType::DGRAM.as_raw() }>;
pub(crate) type SocketpairSeqpacketChannel = SocketpairChannel<{ SocketType::SEQPACKET.as_raw() }>;

impl<const KIND: u32> Channel for SocketpairChannel<KIND> {
    type Sender = WriteEnd;
    type Receiver = ReadEnd;

    fn make(_: &Direction) -> io::Result<Endpoints> {
        let kind = SocketType::from_raw(KIND);
        let (writing, reading) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
        Ok(Endpoints::new(writing, reading))
    }

    fn receiver(endpoint: Endpoint) -> io::Result<ReadEnd> {
        ReadEnd::new(endpoint)
    }

    fn sender(endpoint: Endpoint) -> io::Result<WriteEnd> {
        WriteEnd::new(endpoint)
    }
}

/// A stream socket that listened and was connected to.
pub(crate) struct UnixStreamChannel;

impl Channel for UnixStreamChannel {
    type Sender = WriteEnd;
    type Receiver = ReadEnd;

    fn make(_: &Direction) -> io::Result<Endpoints> {
        let new = || socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None);
        let (listening, writing) = (new()?, new()?);
        // Without a name, the kernel chooses one that is in no folder.
        bind(&listening, &SocketAddrUnix::new_unnamed())?;
        listen(&listening, 1)?;
        connect(&writing, &getsockname(&listening)?)?;
        Ok(Endpoints::new(writing, accept_with(&listening, SocketFlags::CLOEXEC)?))
    }

    fn receiver(endpoint: Endpoint) -> io::Result<ReadEnd> {
        ReadEnd::new(endpoint)
    }

    fn sender(endpoint: Endpoint) -> io::Result<WriteEnd> {
        WriteEnd::new(endpoint)
    }
}

/// Over the loopback interface, with `TCP_NODELAY`.
pub(crate) struct TcpChannel;

impl Channel for TcpChannel {
    type Sender = WriteEnd;
    type Receiver = ReadEnd;

    fn make(_: &Direction) -> io::Result<Endpoints> {
        let listening = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let writing = TcpStream::connect(listening.local_addr()?)?;
        let (reading, _) = listening.accept()?;
        writing.set_nodelay(true)?;
        Ok(Endpoints::new(writing.into(), reading.into()))
    }

    fn receiver(endpoint: Endpoint) -> io::Result<ReadEnd> {
        ReadEnd::new(endpoint)
    }

    fn sender(endpoint: Endpoint) -> io::Result<WriteEnd> {
        WriteEnd::new(endpoint)
    }
}

/// Over the loopback interface.
pub(crate) struct UdpChannel;

impl Channel for UdpChannel {
    type Sender = WriteEnd;
    type Receiver = ReadEnd;

    fn make(_: &Direction) -> io::Result<Endpoints> {
        let any = (Ipv4Addr::LOCALHOST, 0);
        let (writing, reading) = (UdpSocket::bind(any)?, UdpSocket::bind(any)?);
        writing.connect(reading.local_addr()?)?;
        reading.connect(writing.local_addr()?)?;
        Ok(Endpoints::new(writing.into(), reading.into()))
    }

    fn receiver(endpoint: Endpoint) -> io::Result<ReadEnd> {
        ReadEnd::new(endpoint)
    }

    fn sender(endpoint: Endpoint) -> io::Result<WriteEnd> {
        WriteEnd::new(endpoint)
    }
}
