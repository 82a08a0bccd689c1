//! The measured loops. Nothing happens in them but what is measured.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_model::{Latency, MonotonicTime, Span, ThresholdAction, Wakeup};

use crate::ring::{Ring, RingWriter};
use crate::wait::Waiter;

#[cfg(test)]
mod tests;

/// What makes all loops of a run end.
#[derive(Clone, Default)]
pub(crate) struct Stop {
    /// Set to end the run.
    pub(crate) asked: Arc<AtomicBool>,
    /// Set by whoever interrupts the whole program; seen here too, in case the observer gets no CPU.
    pub(crate) interrupted: Arc<AtomicBool>,
    /// Set when the end was caused by a latency above the threshold.
    pub(crate) above: Arc<AtomicBool>,
    /// Done by the thread that was above it, before the others are stopped.
    pub(crate) on_above: Option<ThresholdAction>,
}

impl Stop {
    #[inline]
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed) || self.interrupted.load(Ordering::Relaxed)
    }

    pub(crate) fn ask(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }

    #[cold]
    pub(crate) fn above(&self, latency: Latency) {
        self.above.store(true, Ordering::Relaxed);
        if let Some(on_above) = &self.on_above {
            on_above.call(latency);
        }
        self.ask();
    }
}

/// A time that does not come: the end of a run that has none.
pub(crate) const NO_END: MonotonicTime = MonotonicTime::MAX;

/// A latency that no thread reaches: the threshold that never stops a run.
pub(crate) const NEVER: Latency = Latency::from_nanos(i64::MAX);

/// A measuring loop, compiled once for each way of waiting.
pub(crate) trait Job: Sized {
    /// Its first `samples` wake-ups, which do not count: no threshold.
    fn warm_up(&self, samples: u64) -> Self;

    /// What counts: the same work without its first `samples` wake-ups.
    fn after_warm_up(&self, samples: u64) -> Self;

    /// Runs until done or stopped; returns how many waits were completed.
    fn run<W: Waiter>(&self, waiter: &mut W, stop: &Stop, out: &mut RingWriter) -> io::Result<u64>;
}

/// Wake-ups that come first and are forgotten.
pub(crate) struct WarmUp {
    /// How many wake-ups.
    pub(crate) samples: u64,
    /// Where they go. Made before the run, so that the run allocates nothing.
    pub(crate) forgotten: RingWriter,
}

impl WarmUp {
    pub(crate) fn new(samples: u64) -> Self {
        Self { samples, forgotten: RingWriter::new(Ring::new(1)) }
    }
}

/// Runs the warm-up, then the job.
pub(crate) fn run_warm<J: Job, W: Waiter>(
    job: &J,
    warm_up: &mut WarmUp,
    waiter: &mut W,
    stop: &Stop,
    out: &mut RingWriter,
) -> io::Result<u64> {
    job.warm_up(warm_up.samples).run(waiter, stop, &mut warm_up.forgotten)?;
    job.after_warm_up(warm_up.samples).run(waiter, stop, out)
}

/// A thread that wants to run every period.
#[derive(Clone, Copy)]
pub(crate) struct Cyclic {
    /// When to run first.
    pub(crate) first: MonotonicTime,
    /// The time from one planned wake-up to the next; not zero.
    pub(crate) period: Span,
    /// Each planned time is moved by less than this, at random; zero: none is.
    pub(crate) dither: Span,
    /// How many wake-ups.
    pub(crate) samples: u64,
    /// No wake-up is planned after this. Each thread ends by itself, so that a run ends even
    /// where so many threads run that the observer does not.
    pub(crate) until: MonotonicTime,
    /// The latency above which the run stops.
    pub(crate) stop_above: Latency,
}

impl Job for Cyclic {
    /// Ends before the first time that counts, however few of its own it woke at.
    fn warm_up(&self, samples: u64) -> Self {
        let last = self.counted_from(samples).minus(Span::from_nanos(1));
        Self { samples, until: last.min(self.until), stop_above: NEVER, ..*self }
    }

    /// Begins where the warm-up was to end. If that has passed, by a stall in the warm-up, the first wake-up is as late as
    /// that: what was planned is woken at or missed, and nothing is dropped.
    fn after_warm_up(&self, samples: u64) -> Self {
        Self { first: self.counted_from(samples), ..*self }
    }

    /// Waits for each planned time in turn. Times that pass during a wake-up's latency are left out.
    fn run<W: Waiter>(&self, waiter: &mut W, stop: &Stop, out: &mut RingWriter) -> io::Result<u64> {
        let unusual = self.unusual();
        let mut planned = self.first;
        for done in 0..self.samples {
            let expected = planned.plus(self.moved_by(done));
            if planned > self.until || stop.is_asked() || !wait_until(stop, waiter, expected)? {
                return Ok(done);
            }
            let wakeup = Wakeup { expected, ran: waiter.now() };
            out.push(wakeup);
            waiter.woke(wakeup);
            planned = planned.plus(self.period);
            if wakeup.latency() >= unusual {
                planned = planned.plus(self.missed(wakeup, stop));
            }
        }
        Ok(self.samples)
    }
}

impl Cyclic {
    /// The first planned time after `warm_up` of them.
    fn counted_from(&self, warm_up: u64) -> MonotonicTime {
        self.first.plus(self.period.times(warm_up))
    }

    /// From this latency on, a wake-up needs a closer look: one comparison serves both reasons.
    fn unusual(&self) -> Latency {
        Latency::from_nanos(i64::try_from(self.period.as_nanos()).unwrap_or(i64::MAX)).min(self.stop_above)
    }

    /// The periods that passed inside the latency; also stops the run above the threshold.
    #[cold]
    fn missed(&self, wakeup: Wakeup, stop: &Stop) -> Span {
        if wakeup.latency() > self.stop_above {
            stop.above(wakeup.latency());
        }
        self.period.times(wakeup.missed_periods(self.period))
    }

    /// By how much the planned time of this number is moved: the upper half of a product of random bits.
    ///
    /// Source: SplitMix64, Steele et al., OOPSLA 2014.
    #[inline]
    fn moved_by(&self, number: u64) -> Span {
        let mut bits = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let product = u128::from(bits ^ (bits >> 31)) * u128::from(self.dither.as_nanos());
        Span::from_nanos(u64::try_from(product >> 64).unwrap_or_default())
    }
}

/// One sleep after another.
#[derive(Clone, Copy)]
pub(crate) struct Sleep {
    /// How long to sleep.
    pub(crate) length: Span,
    /// How many sleeps.
    pub(crate) samples: u64,
    /// No sleep begins that would end after this.
    pub(crate) until: MonotonicTime,
    /// The latency above which the run stops.
    pub(crate) stop_above: Latency,
}

impl Job for Sleep {
    fn warm_up(&self, samples: u64) -> Self {
        Self { samples, stop_above: NEVER, ..*self }
    }

    /// One sleep begins when the last has ended, so that none is planned that could be dropped.
    fn after_warm_up(&self, _: u64) -> Self {
        *self
    }

    /// Sleeps, notes when it returned, sleeps again.
    fn run<W: Waiter>(&self, waiter: &mut W, stop: &Stop, out: &mut RingWriter) -> io::Result<u64> {
        for done in 0..self.samples {
            let expected = waiter.now().plus(self.length);
            if expected > self.until || stop.is_asked() || !self.sleep(waiter, stop, expected)? {
                return Ok(done);
            }
            let wakeup = Wakeup { expected, ran: waiter.now() };
            out.push(wakeup);
            waiter.woke(wakeup);
            if wakeup.latency() > self.stop_above {
                stop.above(wakeup.latency());
            }
        }
        Ok(self.samples)
    }
}

impl Sleep {
    #[inline]
    fn sleep<W: Waiter>(&self, waiter: &mut W, stop: &Stop, expected: MonotonicTime) -> io::Result<bool> {
        match waiter.wait_for(self.length) {
            Ok(()) => Ok(true),
            // A signal cut it short, or came when it was over: sleep on for the rest, as every language's sleep does.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => match stop.is_asked() {
                true => Ok(waiter.now() >= expected),
                false => wait_until(stop, waiter, expected),
            },
            Err(error) => Err(error),
        }
    }
}

/// Waits again after signals, unless they came to end the run before the time was there; then `false`.
#[inline]
fn wait_until<W: Waiter>(stop: &Stop, waiter: &mut W, time: MonotonicTime) -> io::Result<bool> {
    loop {
        match waiter.wait_until(time) {
            Ok(()) => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                if stop.is_asked() {
                    return Ok(waiter.now() >= time);
                }
            }
            Err(error) => return Err(error),
        }
    }
}
