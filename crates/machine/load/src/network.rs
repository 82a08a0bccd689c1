//! `network`: for each CPU, a process that sends packets through the loopback device as fast as it can,
//! and one that receives them.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};

use crate::workers::{Worker, Workers};

/// Bytes per packet.
const SIZE: usize = 1024;
/// Packets between two clock readings.
const BATCH: u32 = 16;

pub(crate) fn start(workers: &mut Workers<'_>, count: usize) -> io::Result<()> {
    (0..count).try_for_each(|number| pair(workers, number))
}

fn pair(workers: &mut Workers<'_>, number: usize) -> io::Result<()> {
    let receiver = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(loopback)?;
    let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(loopback)?;
    sender.connect(receiver.local_addr()?).map_err(loopback)?;
    workers.add(number, None, |worker| receive(worker, &receiver))?;
    workers.add(number, None, |worker| send(worker, &sender))
}

fn loopback(error: io::Error) -> io::Error {
    let text = format!("the loopback device cannot be used ({error}); bring it up with `ip link set lo up`");
    io::Error::new(error.kind(), text)
}

fn send(mut worker: Worker<'_>, socket: &UdpSocket) -> io::Result<()> {
    loop {
        // Packets that do not fit into the receive buffer are lost, and not counted.
        (0..BATCH).try_for_each(|_| socket.send(&[0; SIZE]).map(drop))?;
        worker.duty_cycle.throttle()?;
    }
}

fn receive(worker: Worker<'_>, socket: &UdpSocket) -> io::Result<()> {
    let mut packet = [0; SIZE];
    loop {
        socket.recv(&mut packet)?;
        worker.counter.add(1);
    }
}
