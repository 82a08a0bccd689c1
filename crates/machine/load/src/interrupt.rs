//! `interrupt`: on each CPU, a process whose timer expires every 20 µs, and which meanwhile issues memory
//! barriers on the other CPUs: the kernel interrupts each CPU that runs such a process.
//!
//! Source: <https://man7.org/linux/man-pages/man2/membarrier.2.html>, `MEMBARRIER_CMD_GLOBAL_EXPEDITED`.

use std::io;

use howlate_model::Span;
use rustix::thread::{MembarrierCommand, membarrier};
use rustix::time::TimerfdFlags;

use crate::timers::{expiries, periodic};
use crate::workers::{Worker, Workers};

const PERIOD: Span = Span::from_micros(20);
/// Barriers between two clock readings.
const BATCH: u64 = 16;

pub(crate) fn start(workers: &mut Workers<'_>, count: usize) -> io::Result<()> {
    for number in 0..count {
        let cpu = workers.cpu(number);
        workers.add(number, cpu, storm)?;
    }
    Ok(())
}

fn storm(mut worker: Worker<'_>) -> io::Result<()> {
    let barriers = membarrier(MembarrierCommand::RegisterGlobalExpedited).is_ok();
    // Without barriers the process only waits for the timer.
    let flags = if barriers { TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK } else { TimerfdFlags::CLOEXEC };
    loop {
        // Armed only while it works, so that nothing expires during the rest.
        let timer = periodic(PERIOD, Span::ZERO, flags)?;
        while !worker.duty_cycle.is_over() {
            if barriers {
                (0..BATCH).try_for_each(|_| membarrier(MembarrierCommand::GlobalExpedited))?;
                worker.counter.add(BATCH);
            }
            worker.counter.add(expiries(&timer)?);
        }
        drop(timer);
        worker.duty_cycle.throttle()?;
    }
}
