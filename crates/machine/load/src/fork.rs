//! `fork`: on each CPU, a process that forks children which exit at once, one after the other.

use std::io;

use howlate_linux::process::fork_and_end;
use rustix::process::{Pid, WaitOptions, waitpid};

use crate::workers::{Worker, Workers, cannot_fork};

pub(crate) fn start(workers: &mut Workers<'_>, count: usize) -> io::Result<()> {
    for number in 0..count {
        let cpu = workers.cpu(number);
        workers.add(number, cpu, fork_on)?;
    }
    Ok(())
}

fn fork_on(mut worker: Worker<'_>) -> io::Result<()> {
    loop {
        let child = fork_and_end().map_err(cannot_fork)?;
        waitpid(i32::try_from(child).ok().and_then(Pid::from_raw), WaitOptions::empty())?;
        worker.counter.add(1);
        worker.duty_cycle.throttle()?;
    }
}
