//! `tcp(7)` over the loopback interface, with `TCP_NODELAY`.

use std::io;

use std::net::{Ipv4Addr, TcpListener, TcpStream};

use super::descriptor::{Reading, Writing};
use crate::notify::channel::{Channel, Ends, Kit};
use crate::notify::lane::Lane;

pub(crate) struct Tcp;

impl Channel for Tcp {
    type Sender = Writing;
    type Receiver = Reading;

    fn make(_: &Lane) -> io::Result<Ends> {
        let listening = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let writing = TcpStream::connect(listening.local_addr()?)?;
        let (reading, _) = listening.accept()?;
        writing.set_nodelay(true)?;
        Ok(Ends::of(writing.into(), reading.into()))
    }

    fn receiver(kit: Kit) -> io::Result<Reading> {
        Reading::new(kit)
    }

    fn sender(kit: Kit) -> io::Result<Writing> {
        Writing::new(kit)
    }
}
