//! The measuring loops. They contain only what is measured.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_model::{Latency, MonotonicTime, Span, ThresholdAction, Wakeup};

use crate::ring::{RingWriter, WakeupRing};
use crate::wait::Waiter;

#[cfg(test)]
mod tests;

/// Ends all loops of a run.
#[derive(Clone, Default)]
pub(crate) struct Stop {
    /// Set to end the run.
    pub(crate) requested: Arc<AtomicBool>,
    /// Set when the whole program is interrupted. Read by the loops as well, in case the observer gets no CPU.
    pub(crate) interrupted: Arc<AtomicBool>,
    /// Set when a latency above the threshold ended the run.
    pub(crate) above: Arc<AtomicBool>,
    /// Called by the thread that was above the threshold, before the other threads stop.
    pub(crate) on_above: Option<ThresholdAction>,
}

impl Stop {
    #[inline]
    pub(crate) fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed) || self.interrupted.load(Ordering::Relaxed)
    }

    pub(crate) fn request(&self) {
        self.requested.store(true, Ordering::Relaxed);
    }

    #[cold]
    pub(crate) fn stop_above(&self, latency: Latency) {
        self.above.store(true, Ordering::Relaxed);
        if let Some(on_above) = &self.on_above {
            on_above.call(latency);
        }
        self.request();
    }
}

/// The end of a run without an end.
pub(crate) const NO_END: MonotonicTime = MonotonicTime::MAX;

/// A threshold that never stops a run.
pub(crate) const NEVER: Latency = Latency::from_nanos(i64::MAX);

/// A measuring loop, compiled once for each wait mechanism.
pub(crate) trait MeasuringLoop: Sized {
    /// The loop of the first `samples` wake-ups, which do not count: without a threshold.
    fn warm_up(&self, samples: u64) -> Self;

    /// The loop that counts: without the first `samples` wake-ups.
    fn after_warm_up(&self, samples: u64) -> Self;

    /// Runs until done or stopped; returns the number of completed waits.
    fn run<W: Waiter>(&self, waiter: &mut W, stop: &Stop, out: &mut RingWriter) -> io::Result<u64>;
}

/// The first wake-ups, which are discarded.
pub(crate) struct WarmUp {
    pub(crate) samples: u64,
    /// Receives them. Created before the run, so that the run does not allocate.
    pub(crate) discarded: RingWriter,
}

impl WarmUp {
    pub(crate) fn new(samples: u64) -> Self {
        Self { samples, discarded: RingWriter::new(WakeupRing::new(1)) }
    }
}

/// Runs the warm-up, then the loop that counts.
pub(crate) fn run_with_warm_up<L: MeasuringLoop, W: Waiter>(
    measuring_loop: &L,
    warm_up: &mut WarmUp,
    waiter: &mut W,
    stop: &Stop,
    out: &mut RingWriter,
) -> io::Result<u64> {
    measuring_loop.warm_up(warm_up.samples).run(waiter, stop, &mut warm_up.discarded)?;
    measuring_loop.after_warm_up(warm_up.samples).run(waiter, stop, out)
}

/// A loop that wakes up every period.
#[derive(Clone, Copy)]
pub(crate) struct CyclicLoop {
    /// The first planned time.
    pub(crate) first: MonotonicTime,
    /// The time from one planned wake-up to the next; not zero.
    pub(crate) period: Span,
    /// Each planned time is delayed by less than this, at random.
    pub(crate) dither: Span,
    /// Number of wake-ups.
    pub(crate) samples: u64,
    /// No wake-up is planned after this. Each thread ends by itself, so that a run ends even
    /// where the observer gets no CPU beside so many threads.
    pub(crate) until: MonotonicTime,
    /// The latency above which the run stops.
    pub(crate) stop_above: Latency,
}

impl MeasuringLoop for CyclicLoop {
    /// Ends before the first time that counts, even if fewer wake-ups than planned happened.
    fn warm_up(&self, samples: u64) -> Self {
        let last = self.first_counted(samples).minus(Span::from_nanos(1));
        Self { samples, until: last.min(self.until), stop_above: NEVER, ..*self }
    }

    /// Starts at the planned end of the warm-up. If that has passed because of a stall in the warm-up, the first wake-up is
    /// accordingly late: every planned time is a wake-up or a miss, and none is dropped.
    fn after_warm_up(&self, samples: u64) -> Self {
        Self { first: self.first_counted(samples), ..*self }
    }

    /// Waits for each planned time. Times that pass during a wake-up's latency are skipped.
    fn run<W: Waiter>(&self, waiter: &mut W, stop: &Stop, out: &mut RingWriter) -> io::Result<u64> {
        let inspect_from = self.inspect_from();
        let mut planned = self.first;
        for done in 0..self.samples {
            let expected = planned.plus(self.dither_of(done));
            if planned > self.until || stop.is_requested() || !wait_until(stop, waiter, expected)? {
                return Ok(done);
            }
            let wakeup = Wakeup { expected, ran: waiter.now() };
            out.push(wakeup);
            waiter.after_wakeup(wakeup);
            planned = planned.plus(self.period);
            if wakeup.latency() >= inspect_from {
                planned = planned.plus(self.missed(wakeup, stop));
            }
        }
        Ok(self.samples)
    }
}

impl CyclicLoop {
    /// The planned time after `warm_up` wake-ups.
    fn first_counted(&self, warm_up: u64) -> MonotonicTime {
        self.first.plus(self.period.times(warm_up))
    }

    /// Latency from which the loop checks for missed periods and the threshold: one comparison for both.
    fn inspect_from(&self) -> Latency {
        Latency::from_nanos(i64::try_from(self.period.as_nanos()).unwrap_or(i64::MAX)).min(self.stop_above)
    }

    /// The periods that passed inside the latency; also stops the run above the threshold.
    #[cold]
    fn missed(&self, wakeup: Wakeup, stop: &Stop) -> Span {
        if wakeup.latency() > self.stop_above {
            stop.stop_above(wakeup.latency());
        }
        self.period.times(wakeup.missed_periods(self.period))
    }

    /// Random delay of planned time `number`: the upper half of a product with random bits.
    ///
    /// Source: SplitMix64, Steele et al., OOPSLA 2014.
    #[inline]
    fn dither_of(&self, number: u64) -> Span {
        let mut bits = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let product = u128::from(bits ^ (bits >> 31)) * u128::from(self.dither.as_nanos());
        Span::from_nanos(u64::try_from(product >> 64).unwrap_or_default())
    }
}

/// A loop of consecutive sleeps.
#[derive(Clone, Copy)]
pub(crate) struct SleepLoop {
    pub(crate) length: Span,
    /// Number of sleeps.
    pub(crate) samples: u64,
    /// No sleep starts that would end after this.
    pub(crate) until: MonotonicTime,
    /// The latency above which the run stops.
    pub(crate) stop_above: Latency,
}

impl MeasuringLoop for SleepLoop {
    fn warm_up(&self, samples: u64) -> Self {
        Self { samples, stop_above: NEVER, ..*self }
    }

    /// Each sleep starts when the last has ended, so no planned sleep can be dropped.
    fn after_warm_up(&self, _: u64) -> Self {
        *self
    }

    /// Sleeps, stores the time of the return, and repeats.
    fn run<W: Waiter>(&self, waiter: &mut W, stop: &Stop, out: &mut RingWriter) -> io::Result<u64> {
        for done in 0..self.samples {
            let expected = waiter.now().plus(self.length);
            if expected > self.until || stop.is_requested() || !self.sleep(waiter, stop, expected)? {
                return Ok(done);
            }
            let wakeup = Wakeup { expected, ran: waiter.now() };
            out.push(wakeup);
            waiter.after_wakeup(wakeup);
            if wakeup.latency() > self.stop_above {
                stop.stop_above(wakeup.latency());
            }
        }
        Ok(self.samples)
    }
}

impl SleepLoop {
    #[inline]
    fn sleep<W: Waiter>(&self, waiter: &mut W, stop: &Stop, expected: MonotonicTime) -> io::Result<bool> {
        match waiter.wait_for(self.length) {
            Ok(()) => Ok(true),
            // A signal cut the sleep short, or arrived after it: sleep for the rest, as every language's sleep does.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => match stop.is_requested() {
                true => Ok(waiter.now() >= expected),
                false => wait_until(stop, waiter, expected),
            },
            Err(error) => Err(error),
        }
    }
}

/// Repeats the wait after signals. `false` if the run was stopped before `time`.
#[inline]
fn wait_until<W: Waiter>(stop: &Stop, waiter: &mut W, time: MonotonicTime) -> io::Result<bool> {
    loop {
        match waiter.wait_until(time) {
            Ok(()) => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                if stop.is_requested() {
                    return Ok(waiter.now() >= time);
                }
            }
            Err(error) => return Err(error),
        }
    }
}
