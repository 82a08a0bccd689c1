//! `udp(7)` over the loopback interface.

use std::io;

use std::net::{Ipv4Addr, UdpSocket};

use super::descriptor::{Reading, Writing};
use crate::notify::channel::{Channel, Ends, Kit};
use crate::notify::lane::Lane;

pub(crate) struct Udp;

impl Channel for Udp {
    type Sender = Writing;
    type Receiver = Reading;

    fn make(_: &Lane) -> io::Result<Ends> {
        let any = (Ipv4Addr::LOCALHOST, 0);
        let (writing, reading) = (UdpSocket::bind(any)?, UdpSocket::bind(any)?);
        writing.connect(reading.local_addr()?)?;
        reading.connect(writing.local_addr()?)?;
        Ok(Ends::of(writing.into(), reading.into()))
    }

    fn receiver(kit: Kit) -> io::Result<Reading> {
        Reading::new(kit)
    }

    fn sender(kit: Kit) -> io::Result<Writing> {
        Writing::new(kit)
    }
}
