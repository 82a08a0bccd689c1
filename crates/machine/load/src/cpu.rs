//! `cpu`: two processes per CPU that never sleep, so that there is always one waiting.

use std::hint::black_box;
use std::io;

use crate::workers::{Worker, Workers};

/// Processes for each CPU.
pub(crate) const PER_CPU: usize = 2;
/// Multiplications that are counted as one round: a few microseconds.
const ROUND: u32 = 10_000;

pub(crate) fn start(workers: &mut Workers<'_>, count: usize) -> io::Result<()> {
    (0..count).try_for_each(|number| workers.add(number, None, spin))
}

/// Multiplies for ever.
pub(crate) fn spin(mut worker: Worker<'_>) -> io::Result<()> {
    let mut state = 1_u64;
    loop {
        for _ in 0..ROUND {
            state = black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
        worker.counter.add(1);
        worker.duty_cycle.throttle()?;
    }
}
