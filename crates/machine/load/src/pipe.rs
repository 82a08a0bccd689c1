//! `pipe`: on each CPU, two processes wake each other in turn through two pipes. Each wake-up is a
//! switch from one to the other, as often as the CPU can.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::{read, write};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::workers::{Worker, Workers};

/// Round trips between two looks at the clock.
const BATCH: u32 = 64;

pub(crate) fn start(workers: &mut Workers<'_>, count: usize) -> io::Result<()> {
    (0..count).try_for_each(|number| pair(workers, number))
}

fn pair(workers: &mut Workers<'_>, number: usize) -> io::Result<()> {
    let (there_end, there) = pipe_with(PipeFlags::CLOEXEC)?;
    let (back_end, back) = pipe_with(PipeFlags::CLOEXEC)?;
    let cpu = workers.cpu(number);
    workers.add(number, cpu, |worker| serve(worker, there.as_fd(), back_end.as_fd()))?;
    workers.add(number, cpu, |_| return_them(there_end.as_fd(), back.as_fd()))
}

fn serve(mut worker: Worker<'_>, there: BorrowedFd<'_>, back: BorrowedFd<'_>) -> io::Result<()> {
    let mut ball = [0_u8];
    loop {
        for _ in 0..BATCH {
            write(there, &ball)?;
            read(back, &mut ball)?;
        }
        worker.counter.add(u64::from(2 * BATCH));
        worker.duty_cycle.throttle()?;
    }
}

fn return_them(there: BorrowedFd<'_>, back: BorrowedFd<'_>) -> io::Result<()> {
    let mut ball = [0_u8];
    loop {
        read(there, &mut ball)?;
        write(back, &ball)?;
    }
}
