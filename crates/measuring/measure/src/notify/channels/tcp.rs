//! `tcp(7)` over the loopback interface, with `TCP_NODELAY`.

use std::io;

use std::net::{Ipv4Addr, TcpListener, TcpStream};

use super::descriptor::{Reading, Writing};
use crate::notify::channel::{Channel, Endpoint, Endpoints};
use crate::notify::shared::Direction;

pub(crate) struct Tcp;

impl Channel for Tcp {
    type Sender = Writing;
    type Receiver = Reading;

    fn make(_: &Direction) -> io::Result<Endpoints> {
        let listening = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let writing = TcpStream::connect(listening.local_addr()?)?;
        let (reading, _) = listening.accept()?;
        writing.set_nodelay(true)?;
        Ok(Endpoints::new(writing.into(), reading.into()))
    }

    fn receiver(endpoint: Endpoint) -> io::Result<Reading> {
        Reading::new(endpoint)
    }

    fn sender(endpoint: Endpoint) -> io::Result<Writing> {
        Writing::new(endpoint)
    }
}
