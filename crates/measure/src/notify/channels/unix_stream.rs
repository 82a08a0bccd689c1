//! `unix(7)`: a stream socket that was listened on and connected to.

use std::io;

use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, getsockname, listen,
    socket_with,
};

use super::descriptor::{Reading, Writing};
use crate::notify::channel::{Channel, Ends, Kit};
use crate::notify::lane::Lane;

pub(crate) struct UnixStream;

impl Channel for UnixStream {
    type Sender = Writing;
    type Receiver = Reading;

    fn make(_: &Lane) -> io::Result<Ends> {
        let new = || socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None);
        let (listening, writing) = (new()?, new()?);
        // Without a name, the kernel chooses one that is in no folder.
        bind(&listening, &SocketAddrUnix::new_unnamed())?;
        listen(&listening, 1)?;
        connect(&writing, &getsockname(&listening)?)?;
        Ok(Ends::of(writing, accept_with(&listening, SocketFlags::CLOEXEC)?))
    }

    fn receiver(kit: Kit) -> io::Result<Reading> {
        Reading::new(kit)
    }

    fn sender(kit: Kit) -> io::Result<Writing> {
        Writing::new(kit)
    }
}
