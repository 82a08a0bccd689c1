//! The measured loops. Nothing happens in them but what is measured.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_model::{Latency, MonotonicTime, OnAbove, Span, Wakeup};

use crate::ring::{Ring, RingWriter};
use crate::wait::Waiter;

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
    pub(crate) on_above: Option<OnAbove>,
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
    fn above(&self, latency: Latency) {
        self.above.store(true, Ordering::Relaxed);
        if let Some(on_above) = &self.on_above {
            on_above.call(latency);
        }
        self.ask();
    }
}

/// A time that does not come: the end of a run that has none.
pub(crate) const NO_END: MonotonicTime = MonotonicTime::from_nanos(i64::MAX);

/// A latency that no thread reaches: the threshold that never stops a run.
pub(crate) const NEVER: Latency = Latency::from_nanos(i64::MAX);

/// A measuring loop, compiled once for each way of waiting.
pub(crate) trait Job: Sized {
    /// The same work for `samples` wake-ups that do not count: no threshold.
    fn warm_up(&self, samples: u64) -> Self;

    /// The same work, begun after `now`.
    fn after(&self, now: MonotonicTime) -> Self;

    /// Runs until done or stopped; returns how many waits were completed.
    fn run<W: Waiter>(&self, waiter: &mut W, stop: &Stop, out: &mut RingWriter) -> io::Result<u64>;
}

/// Wake-ups that come first and are forgotten.
pub(crate) struct WarmUp {
    /// How many.
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
    job.after(waiter.now()).run(waiter, stop, out)
}

/// Periodic work.
#[derive(Clone, Copy)]
pub(crate) struct Cyclic {
    /// When to run first.
    pub(crate) first: MonotonicTime,
    /// The time from one planned wake-up to the next; not zero.
    pub(crate) period: Span,
    /// How many wake-ups.
    pub(crate) samples: u64,
    /// No wake-up is planned after this. Each thread ends by itself, so that a run ends even
    /// where so many threads run that the observer does not.
    pub(crate) until: MonotonicTime,
    /// The latency above which the run stops.
    pub(crate) stop_above: Latency,
}

impl Job for Cyclic {
    fn warm_up(&self, samples: u64) -> Self {
        Self { samples, stop_above: NEVER, ..*self }
    }

    /// Begins at the next time of the same grid.
    fn after(&self, now: MonotonicTime) -> Self {
        let passed = now.since(self.first).as_nanos() / self.period.as_nanos();
        let steps = if now > self.first { passed + 1 } else { 0 };
        Self { first: self.first.plus(self.period.times(steps)), ..*self }
    }

    /// Waits for each planned time in turn. Times that pass during a wake-up's latency are left out.
    fn run<W: Waiter>(&self, waiter: &mut W, stop: &Stop, out: &mut RingWriter) -> io::Result<u64> {
        let unusual = self.unusual();
        let mut expected = self.first;
        for done in 0..self.samples {
            if expected > self.until || stop.is_asked() || !undisturbed(stop, || waiter.wait_until(expected))?
            {
                return Ok(done);
            }
            let wakeup = Wakeup { expected, ran: waiter.now() };
            out.push(wakeup);
            expected = expected.plus(self.period);
            if wakeup.latency() >= unusual {
                expected = self.after_unusual(wakeup, stop);
            }
        }
        Ok(self.samples)
    }
}

impl Cyclic {
    /// From this latency on, a wake-up needs a closer look: one comparison serves both reasons.
    fn unusual(&self) -> Latency {
        Latency::from_nanos(i64::try_from(self.period.as_nanos()).unwrap_or(i64::MAX)).min(self.stop_above)
    }

    /// The next planned time that has not passed; also stops the run above the threshold.
    #[cold]
    fn after_unusual(&self, wakeup: Wakeup, stop: &Stop) -> MonotonicTime {
        if wakeup.latency() > self.stop_above {
            stop.above(wakeup.latency());
        }
        let steps = wakeup.missed_periods(self.period) + 1;
        wakeup.expected.plus(self.period.times(steps))
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

    fn after(&self, _: MonotonicTime) -> Self {
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
            // A signal cut it short: sleep on for the rest, as every language's sleep does.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                Ok(!stop.is_asked() && undisturbed(stop, || waiter.wait_until(expected))?)
            }
            Err(error) => Err(error),
        }
    }
}

/// Waits again after signals, unless they came to end the run; then `false`.
#[inline]
fn undisturbed(stop: &Stop, mut wait: impl FnMut() -> io::Result<()>) -> io::Result<bool> {
    loop {
        match wait() {
            Ok(()) => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                if stop.is_asked() {
                    return Ok(false);
                }
            }
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::collections::VecDeque;

    /// A world in which every wait ends exactly as late as the script says.
    struct Scripted {
        now: Cell<i64>,
        late: VecDeque<Late>,
    }

    enum Late {
        By(i64),
        Signal,
        Broken,
    }
    use Late::{Broken, By, Signal};

    impl Scripted {
        fn new(late: impl IntoIterator<Item = Late>) -> Self {
            Self { now: Cell::new(0), late: late.into_iter().collect() }
        }
    }

    impl Waiter for Scripted {
        fn now(&self) -> MonotonicTime {
            MonotonicTime::from_nanos(self.now.get())
        }

        fn wait_until(&mut self, time: MonotonicTime) -> io::Result<()> {
            match self.late.pop_front() {
                Some(By(late)) => self.now.set(time.as_nanos() + late),
                Some(Signal) => return Err(io::ErrorKind::Interrupted.into()),
                Some(Broken) | None => return Err(io::ErrorKind::InvalidInput.into()),
            }
            Ok(())
        }

        fn wait_for(&mut self, span: Span) -> io::Result<()> {
            self.wait_until(self.now().plus(span))
        }
    }

    fn collect(ring: &Ring) -> Vec<(i64, i64)> {
        let mut got = Vec::new();
        ring.drain(|one| got.push((one.expected.as_nanos(), one.latency().as_nanos())));
        got
    }

    fn cyclic(
        script: impl IntoIterator<Item = Late>,
        stop_above: i64,
    ) -> (Vec<(i64, i64)>, io::Result<u64>, bool) {
        let mut world = Scripted::new(script);
        let samples = u64::try_from(world.late.iter().filter(|one| matches!(one, By(_))).count()).unwrap();
        let samples = samples + u64::from(world.late.iter().any(|one| matches!(one, Broken)));
        let (ring, stop) = (Ring::new(64), Stop::default());
        let job = Cyclic {
            first: MonotonicTime::from_nanos(100),
            period: Span::from_nanos(100),
            samples,
            until: NO_END,
            stop_above: Latency::from_nanos(stop_above),
        };
        let result = job.run(&mut world, &stop, &mut RingWriter::new(Arc::clone(&ring)));
        (collect(&ring), result, stop.is_asked())
    }

    #[test]
    fn periodic_wake_ups_keep_their_grid() {
        // 0    100  200  300  400  500  600   period 100
        // |----|----|----|----|----|----|
        //      ^ +7 ^ +130    ^ +0 ^ +99^ +100
        //            swallows 300              swallows 700
        let (got, result, _) = cyclic([By(7), By(130), By(0), By(99), By(100), By(1)], i64::MAX);
        assert_eq!(got, [(100, 7), (200, 130), (400, 0), (500, 99), (600, 100), (800, 1)]);
        assert_eq!(result.unwrap(), 6);
    }

    #[test]
    fn a_signal_does_not_count_as_a_wake_up() {
        let (got, ..) = cyclic([By(1), Signal, Signal, By(2)], i64::MAX);
        assert_eq!(got, [(100, 1), (200, 2)]);
    }

    #[test]
    fn a_loop_ends_by_itself_when_its_time_is_over() {
        // 0    100  200  300  400   period 100, until 350
        // |----|----|----|--|-|
        //      ^ +1 ^ +2 ^ +3
        let mut world = Scripted::new([By(1), By(2), By(3), By(4)]);
        let (ring, stop) = (Ring::new(8), Stop::default());
        let first = MonotonicTime::from_nanos(100);
        let until = MonotonicTime::from_nanos(350);
        let job = Cyclic { first, period: Span::from_nanos(100), samples: 9, until, stop_above: NEVER };
        let done = job.run(&mut world, &stop, &mut RingWriter::new(Arc::clone(&ring))).unwrap();
        assert_eq!((done, collect(&ring).len()), (3, 3));
    }

    #[test]
    fn the_threshold_stops_at_once_and_keeps_the_culprit() {
        let (got, result, stopped) = cyclic([By(50), By(51), By(3)], 50);
        assert_eq!(got, [(100, 50), (200, 51)]);
        assert_eq!(result.unwrap(), 2);
        assert!(stopped);
    }

    #[test]
    fn warm_up_is_forgotten_and_the_grid_is_kept() {
        // 0    100  200  300  400  500   period 100
        // |----|----|----|----|----|
        //      ^ +9 ^ +150    ^ +3 ^ +4
        //      warm-up
        let mut world = Scripted::new([By(9), By(150), By(3), By(4)]);
        let (ring, stop) = (Ring::new(8), Stop::default());
        let first = MonotonicTime::from_nanos(100);
        let job = Cyclic {
            first,
            period: Span::from_nanos(100),
            samples: 2,
            until: NO_END,
            stop_above: Latency::from_nanos(5),
        };
        let done =
            run_warm(&job, &mut WarmUp::new(2), &mut world, &stop, &mut RingWriter::new(Arc::clone(&ring)))
                .unwrap();
        assert_eq!(done, 2);
        assert_eq!(collect(&ring), [(400, 3), (500, 4)]);
    }

    #[test]
    fn a_failing_call_ends_the_loop_with_its_error() {
        let (got, result, _) = cyclic([By(5), Broken], i64::MAX);
        assert_eq!(got, [(100, 5)]);
        assert_eq!(result.unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn sleeps_start_when_the_last_one_returned() {
        // 0        1000 +56       2056 +4      3060
        // |--------|----|---------|----|
        let mut world = Scripted::new([By(56), Signal, By(4)]);
        let (ring, stop) = (Ring::new(8), Stop::default());
        let job = Sleep { length: Span::from_micros(1), samples: 2, until: NO_END, stop_above: NEVER };
        let done = job.run(&mut world, &stop, &mut RingWriter::new(Arc::clone(&ring))).unwrap();
        assert_eq!(done, 2);
        assert_eq!(collect(&ring), [(1000, 56), (2056, 4)]);
    }
}
