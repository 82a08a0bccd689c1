//! Measures the overhead of measuring.

use std::hint::black_box;
use std::io;
use std::sync::Arc;

use howlate_linux::clock;
use howlate_model::{Instrument, MonotonicTime, Span};

use crate::loops::{CyclicLoop, MeasuringLoop, NEVER, NO_END, Stop};
use crate::ring::{RingWriter, WakeupRing};
use crate::wait::{ClockNanosleep, Waiter};

/// The median of this many batches is used, so that an interruption spoils one batch only.
const BATCHES: usize = 15;
/// The minimum of this many batches is used.
const WAIT_BATCHES: usize = 60;

/// Measures clock precision, clock cost, loop cost and the minimum cost of a wake-up. Takes about 5 ms.
pub fn measure_instrument() -> Instrument {
    Instrument {
        clock_precision: clock_precision(),
        clock_read: median_cost(1_000, |iterations| {
            (0..iterations).for_each(|_| {
                black_box(clock::now());
            })
        }),
        loop_cost: median_cost(1_000, run_loop),
        wait: min_wait(),
    }
}

fn clock_precision() -> Span {
    let readings: Vec<_> = (0..10_000).map(|_| clock::now()).collect();
    let steps = readings.windows(2).map(|pair| pair[1].since(pair[0]));
    steps.filter(|step| !step.is_zero()).min().unwrap_or(clock::resolution())
}

/// The minimum cost of a wake-up: other activity can only add to it, and rarely hits a short batch.
fn min_wait() -> Span {
    let wait = |iterations| {
        (0..iterations).for_each(|_| drop(ClockNanosleep.wait_until(MonotonicTime::from_nanos(1))))
    };
    costs(WAIT_BATCHES, 5, wait).into_iter().min().unwrap_or_default()
}

/// The median over batches of the mean time of one iteration.
fn median_cost(iterations: u64, work: impl FnMut(u64)) -> Span {
    let mut costs = costs(BATCHES, iterations, work);
    costs.sort_unstable();
    costs[BATCHES / 2]
}

/// The mean time of one iteration in each batch.
fn costs(batches: usize, iterations: u64, mut work: impl FnMut(u64)) -> Vec<Span> {
    let cost = |_| {
        let began = clock::now();
        work(iterations);
        Span::from_nanos(clock::now().since(began).as_nanos() / iterations)
    };
    (0..batches).map(cost).collect()
}

/// A wait that returns at once.
struct NoWait;

impl Waiter for NoWait {
    fn wait_until(&mut self, _: MonotonicTime) -> io::Result<()> {
        Ok(())
    }

    fn wait_for(&mut self, _: Span) -> io::Result<()> {
        Ok(())
    }
}

fn run_loop(iterations: u64) {
    let ring = WakeupRing::new(1_024);
    // Far in the future, so that no wake-up is late.
    let first = clock::now().plus(Span::from_secs(3_600));
    let measuring_loop = CyclicLoop {
        first,
        period: Span::from_nanos(1),
        dither: Span::ZERO,
        samples: iterations,
        until: NO_END,
        stop_above: NEVER,
    };
    let completed =
        measuring_loop.run(&mut NoWait, &Stop::default(), &mut RingWriter::new(Arc::clone(&ring)));
    debug_assert!(completed.is_ok_and(|count| count == iterations));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cost_was_measured() {
        let instrument = measure_instrument();
        assert!(!instrument.clock_precision.is_zero());
        assert!(instrument.wait > Span::ZERO);
        assert!(instrument.loop_cost > Span::ZERO);
    }
}
