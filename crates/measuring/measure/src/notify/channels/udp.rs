//! `udp(7)` over the loopback interface.

use std::io;

use std::net::{Ipv4Addr, UdpSocket};

use super::descriptor::{Reading, Writing};
use crate::notify::channel::{Channel, Endpoint, Endpoints};
use crate::notify::shared::Direction;

pub(crate) struct Udp;

impl Channel for Udp {
    type Sender = Writing;
    type Receiver = Reading;

    fn make(_: &Direction) -> io::Result<Endpoints> {
        let any = (Ipv4Addr::LOCALHOST, 0);
        let (writing, reading) = (UdpSocket::bind(any)?, UdpSocket::bind(any)?);
        writing.connect(reading.local_addr()?)?;
        reading.connect(writing.local_addr()?)?;
        Ok(Endpoints::new(writing.into(), reading.into()))
    }

    fn receiver(endpoint: Endpoint) -> io::Result<Reading> {
        Reading::new(endpoint)
    }

    fn sender(endpoint: Endpoint) -> io::Result<Writing> {
        Writing::new(endpoint)
    }
}
