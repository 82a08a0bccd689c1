//! `pipe`: on each CPU, two processes wake each other in turn through two pipes. Each wake-up is a
//! context switch, as often as the CPU can.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::{read, write};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::workers::{Worker, Workers};

/// Round trips between two clock readings.
const BATCH: u32 = 64;

pub(crate) fn start(workers: &mut Workers<'_>, count: usize) -> io::Result<()> {
    (0..count).try_for_each(|number| pair(workers, number))
}

fn pair(workers: &mut Workers<'_>, number: usize) -> io::Result<()> {
    let (ping_reader, ping_writer) = pipe_with(PipeFlags::CLOEXEC)?;
    let (pong_reader, pong_writer) = pipe_with(PipeFlags::CLOEXEC)?;
    let cpu = workers.cpu(number);
    workers.add(number, cpu, |worker| serve(worker, ping_writer.as_fd(), pong_reader.as_fd()))?;
    workers.add(number, cpu, |_| echo(ping_reader.as_fd(), pong_writer.as_fd()))
}

fn serve(mut worker: Worker<'_>, writer: BorrowedFd<'_>, reader: BorrowedFd<'_>) -> io::Result<()> {
    let mut byte = [0_u8];
    loop {
        for _ in 0..BATCH {
            write(writer, &byte)?;
            read(reader, &mut byte)?;
        }
        worker.counter.add(u64::from(2 * BATCH));
        worker.duty_cycle.throttle()?;
    }
}

fn echo(reader: BorrowedFd<'_>, writer: BorrowedFd<'_>) -> io::Result<()> {
    let mut byte = [0_u8];
    loop {
        read(reader, &mut byte)?;
        write(writer, &byte)?;
    }
}
