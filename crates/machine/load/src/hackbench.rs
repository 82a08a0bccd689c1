//! `hackbench`: groups of 20 senders and 20 receivers; each sender writes 100 bytes to each receiver of its
//! group through a socket pair, in turn, as rt-tests' hackbench does by default.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;

use howlate_model::Hackbench;

use crate::workers::{Worker, Workers};

/// Number of senders, and of receivers, in a group.
const PER_SIDE: usize = 20;
/// Bytes in a message.
const SIZE: usize = 100;

/// Number of receiving processes.
pub(crate) const fn receivers(size: Hackbench) -> usize {
    size.groups as usize * PER_SIDE
}

pub(crate) fn start(workers: &mut Workers<'_>, size: Hackbench) -> io::Result<()> {
    (0..size.groups as usize).try_for_each(|number| group(workers, number, size.loops))
}

fn group(workers: &mut Workers<'_>, number: usize, loops: Option<u64>) -> io::Result<()> {
    let pairs = (0..PER_SIDE).map(|_| UnixStream::pair()).collect::<io::Result<Vec<_>>>()?;
    let (mut senders, mut receivers): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    for (index, socket) in receivers.iter_mut().enumerate() {
        let messages = loops.map(|loops| loops * PER_SIDE as u64);
        workers.add(number * PER_SIDE + index, None, |worker| receive(worker, socket, messages))?;
    }
    for _ in 0..PER_SIDE {
        workers.add(0, None, |worker| send(worker, &mut senders, loops))?;
    }
    Ok(())
}

fn send(mut worker: Worker<'_>, sockets: &mut [UnixStream], loops: Option<u64>) -> io::Result<()> {
    let mut sent = 0;
    while loops.is_none_or(|loops| sent < loops) {
        sockets.iter_mut().try_for_each(|socket| socket.write_all(&[0; SIZE]))?;
        sent += 1;
        worker.duty_cycle.throttle()?;
    }
    Ok(())
}

fn receive(worker: Worker<'_>, socket: &mut UnixStream, messages: Option<u64>) -> io::Result<()> {
    let (mut message, mut received) = ([0; SIZE], 0);
    while messages.is_none_or(|messages| received < messages) {
        socket.read_exact(&mut message)?;
        worker.counter.add(1);
        received += 1;
    }
    Ok(())
}
