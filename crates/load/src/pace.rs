//! Working some of the time.

use std::io;

use howlate_linux::clock;
use howlate_model::{Intensity, MonotonicTime, Span};

/// Work and rest together take this long.
const CYCLE: Span = Span::from_millis(10);

/// Makes a worker rest, so that it works its share of the time.
///
/// At 30 % it works for 3 ms and then rests for 7 ms. An operation that takes longer is not cut; the rest
/// that follows is longer in proportion. Time in which it waits for the CPU or for a device is work.
pub(crate) struct Pace {
    percent: u64,
    work: Span,
    began: MonotonicTime,
}

impl Pace {
    pub(crate) fn new(intensity: Intensity) -> Self {
        let percent = u64::from(intensity.percent());
        Self { percent, work: Span::from_nanos(CYCLE.as_nanos() * percent / 100), began: clock::now() }
    }

    /// Rests when it is time. Call it after each operation of at most about a millisecond.
    #[inline]
    pub(crate) fn throttle(&mut self) -> io::Result<()> {
        if self.percent < 100 { self.rest_after(clock::now().since(self.began)) } else { Ok(()) }
    }

    /// Whether it is time to rest; never at 100 %.
    pub(crate) fn is_due(&self) -> bool {
        self.percent < 100 && clock::now().since(self.began) >= self.work
    }

    fn rest_after(&mut self, worked: Span) -> io::Result<()> {
        if worked >= self.work {
            clock::pause(self.rest(worked))?;
            self.began = clock::now();
        }
        Ok(())
    }

    /// How long to rest after having worked for `worked`.
    fn rest(&self, worked: Span) -> Span {
        Span::from_nanos(worked.as_nanos() * (100 - self.percent) / self.percent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rest_is_in_proportion_to_work() {
        let pace = |percent| Pace::new(Intensity::new(percent).unwrap());
        assert_eq!(pace(30).work, Span::from_millis(3));
        assert_eq!(pace(30).rest(Span::from_millis(3)), Span::from_millis(7));
        assert_eq!(pace(50).rest(Span::from_millis(40)), Span::from_millis(40));
        assert_eq!(pace(100).rest(Span::from_millis(40)), Span::ZERO);
        assert_eq!(pace(1).work, Span::from_micros(100));
    }
}
