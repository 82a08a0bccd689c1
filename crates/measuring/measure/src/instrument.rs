//! What measuring itself costs.

use std::hint::black_box;
use std::io;
use std::sync::Arc;

use howlate_linux::clock;
use howlate_model::{Instrument, MonotonicTime, Span};

use crate::loops::{Cyclic, Job, NEVER, NO_END, Stop};
use crate::ring::{Ring, RingWriter};
use crate::wait::{ClockNanosleep, Waiter};

/// Batches of which the median is taken, so that an interruption spoils one batch only.
const BATCHES: usize = 15;
/// Batches of which the least is taken.
const WAIT_BATCHES: usize = 60;

/// Measures clock precision, clock cost, loop cost and the least cost of a wake-up. Takes about 5 ms.
pub fn measure_instrument() -> Instrument {
    Instrument {
        clock_precision: clock_precision(),
        clock_read: median_cost(1_000, |turns| {
            (0..turns).for_each(|_| {
                black_box(clock::now());
            })
        }),
        loop_cost: median_cost(1_000, turn_the_loop),
        wait: least_wait(),
    }
}

fn clock_precision() -> Span {
    let readings: Vec<_> = (0..10_000).map(|_| clock::now()).collect();
    let steps = readings.windows(2).map(|pair| pair[1].since(pair[0]));
    steps.filter(|step| !step.is_zero()).min().unwrap_or(clock::resolution())
}

/// The least that a wake-up costs: what else the machine does can only add to it, and comes less often into a short batch.
fn least_wait() -> Span {
    let wait = |turns| (0..turns).for_each(|_| drop(ClockNanosleep.wait_until(MonotonicTime::from_nanos(1))));
    costs(WAIT_BATCHES, 5, wait).into_iter().min().unwrap_or_default()
}

/// The median over batches of the time that one of `turns` turns takes.
fn median_cost(turns: u64, work: impl FnMut(u64)) -> Span {
    let mut costs = costs(BATCHES, turns, work);
    costs.sort_unstable();
    costs[BATCHES / 2]
}

/// What one of `turns` turns takes, in each of `batches`.
fn costs(batches: usize, turns: u64, mut work: impl FnMut(u64)) -> Vec<Span> {
    let cost = |_| {
        let began = clock::now();
        work(turns);
        Span::from_nanos(clock::now().since(began).as_nanos() / turns)
    };
    (0..batches).map(cost).collect()
}

/// A wait that is over at once.
struct NoWait;

impl Waiter for NoWait {
    fn wait_until(&mut self, _: MonotonicTime) -> io::Result<()> {
        Ok(())
    }

    fn wait_for(&mut self, _: Span) -> io::Result<()> {
        Ok(())
    }
}

fn turn_the_loop(turns: u64) {
    let ring = Ring::new(1_024);
    // Far ahead, so that no wake-up counts as late.
    let first = clock::now().plus(Span::from_secs(3_600));
    let job = Cyclic {
        first,
        period: Span::from_nanos(1),
        dither: Span::ZERO,
        samples: turns,
        until: NO_END,
        stop_above: NEVER,
    };
    let turned = job.run(&mut NoWait, &Stop::default(), &mut RingWriter::new(Arc::clone(&ring)));
    debug_assert!(turned.is_ok_and(|done| done == turns));
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
