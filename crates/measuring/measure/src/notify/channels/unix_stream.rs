//! `unix(7)`: a stream socket that was listened on and connected to.

use std::io;

use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, getsockname, listen,
    socket_with,
};

use super::descriptor::{Reading, Writing};
use crate::notify::channel::{Channel, Endpoint, Endpoints};
use crate::notify::shared::Direction;

pub(crate) struct UnixStream;

impl Channel for UnixStream {
    type Sender = Writing;
    type Receiver = Reading;

    fn make(_: &Direction) -> io::Result<Endpoints> {
        let new = || socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None);
        let (listening, writing) = (new()?, new()?);
        // Without a name, the kernel chooses one that is in no folder.
        bind(&listening, &SocketAddrUnix::new_unnamed())?;
        listen(&listening, 1)?;
        connect(&writing, &getsockname(&listening)?)?;
        Ok(Endpoints::new(writing, accept_with(&listening, SocketFlags::CLOEXEC)?))
    }

    fn receiver(endpoint: Endpoint) -> io::Result<Reading> {
        Reading::new(endpoint)
    }

    fn sender(endpoint: Endpoint) -> io::Result<Writing> {
        Writing::new(endpoint)
    }
}
