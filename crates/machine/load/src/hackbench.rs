//! `hackbench`: groups of 20 senders and 20 receivers; each sender writes 100 bytes to each receiver of its
//! group through a socket pair, in turn, as rt-tests' hackbench does by default.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;

use howlate_model::Hackbench;

use crate::workers::{Worker, Workers};

/// Senders, and receivers, in a group.
const EACH: usize = 20;
/// Bytes in a message.
const SIZE: usize = 100;

/// How many processes receive.
pub(crate) const fn receivers(size: Hackbench) -> usize {
    size.groups as usize * EACH
}

pub(crate) fn start(workers: &mut Workers<'_>, size: Hackbench) -> io::Result<()> {
    (0..size.groups as usize).try_for_each(|number| group(workers, number, size.loops))
}

fn group(workers: &mut Workers<'_>, number: usize, loops: Option<u64>) -> io::Result<()> {
    let pairs = (0..EACH).map(|_| UnixStream::pair()).collect::<io::Result<Vec<_>>>()?;
    let (mut to, mut from): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    for (place, socket) in from.iter_mut().enumerate() {
        let messages = loops.map(|loops| loops * EACH as u64);
        workers.add(number * EACH + place, None, |worker| receive(worker, socket, messages))?;
    }
    for _ in 0..EACH {
        workers.add(0, None, |worker| send(worker, &mut to, loops))?;
    }
    Ok(())
}

fn send(mut worker: Worker<'_>, to: &mut [UnixStream], loops: Option<u64>) -> io::Result<()> {
    let mut done = 0;
    while loops.is_none_or(|loops| done < loops) {
        to.iter_mut().try_for_each(|socket| socket.write_all(&[0; SIZE]))?;
        done += 1;
        worker.duty_cycle.throttle()?;
    }
    Ok(())
}

fn receive(worker: Worker<'_>, from: &mut UnixStream, messages: Option<u64>) -> io::Result<()> {
    let (mut message, mut done) = ([0; SIZE], 0);
    while messages.is_none_or(|messages| done < messages) {
        from.read_exact(&mut message)?;
        worker.counter.add(1);
        done += 1;
    }
    Ok(())
}
