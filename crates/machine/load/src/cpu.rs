//! `cpu`: two processes per CPU that never sleep, so that one is always waiting.
//!
//! `awake`: on each CPU a `SCHED_IDLE` process that never sleeps. The CPU never idles, and nothing else has to wait: what a
//! wake-up saves under this load is the cost of leaving the idle state.

use std::hint::black_box;
use std::io;

use howlate_linux::sched;
use howlate_model::Policy;

use crate::workers::{Worker, Workers};

/// Processes for each CPU.
pub(crate) const PER_CPU: usize = 2;
/// Multiplications per counted operation: a few microseconds.
const ROUND: u32 = 10_000;

pub(crate) fn start(workers: &mut Workers<'_>, count: usize) -> io::Result<()> {
    (0..count).try_for_each(|number| workers.add(number, None, spin))
}

/// Multiplies forever.
fn spin(mut worker: Worker<'_>) -> io::Result<()> {
    let mut state = 1_u64;
    loop {
        for _ in 0..ROUND {
            state = black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
        worker.counter.add(1);
        worker.duty_cycle.throttle()?;
    }
}

pub(crate) fn start_awake(workers: &mut Workers<'_>, count: usize) -> io::Result<()> {
    (0..count).try_for_each(|number| workers.add(number, workers.cpu(number), spin_at_idle_priority))
}

fn spin_at_idle_priority(worker: Worker<'_>) -> io::Result<()> {
    sched::set_policy(sched::THIS_THREAD, Policy::Idle)?;
    spin(worker)
}
