//! `softirq`: packets that the network's softirq hands to many receivers.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::OwnedFd;

use howlate_linux::clock;
use howlate_model::{Known, Stamp};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, sockopt};

use crate::order::Told;
use crate::work::{Work, reason, sleep_until};

/// Sockets that each packet is handed to, one after the other, within one softirq.
const RECEIVERS: usize = 400;
/// A group within one machine. Source: RFC 2365, section 6.1 (239.255.0.0/16 is local scope).
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 107, 1);

pub(crate) fn prepare(mut known: Known) -> io::Result<Work> {
    let (receivers, to) =
        receivers().map_err(|error| reason("the loopback device cannot be used", &error))?;
    let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    sockopt::set_ip_multicast_if(&sender, &Ipv4Addr::LOCALHOST)?;
    Ok(Box::new(move |stretch| {
        sleep_until(stretch.start);
        let mut from = clock::now();
        while from < stretch.end {
            sender.send_to(&[0], to)?;
            let until = clock::now();
            known.stamps.push(Stamp { from, until });
            from = clock::now();
        }
        drop(receivers);
        Ok(Told { known: Some(known), ..Told::default() })
    }))
}

/// Sockets that all receive what is sent to one address.
fn receivers() -> io::Result<(Vec<OwnedFd>, SocketAddrV4)> {
    let first = receiver(0)?;
    let port = SocketAddrV4::try_from(rustix::net::getsockname(&first)?)?.port();
    let others = (1..RECEIVERS).map(|_| receiver(port)).collect::<io::Result<Vec<_>>>()?;
    Ok((std::iter::once(first).chain(others).collect(), SocketAddrV4::new(GROUP, port)))
}

fn receiver(port: u16) -> io::Result<OwnedFd> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &SocketAddrV4::new(GROUP, port))?;
    sockopt::set_ip_add_membership(&socket, &GROUP, &Ipv4Addr::LOCALHOST)?;
    Ok(socket)
}
