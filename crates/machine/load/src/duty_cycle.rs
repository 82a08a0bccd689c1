//! Working some of the time.

use std::io;

use howlate_linux::clock;
use howlate_model::{MonotonicTime, Span};

use crate::scoreboard::Scoreboard;

/// Work and rest together take this long: 10 ms times half the golden ratio, so that no period that people measure stays in
/// step with it and meets always work, or always rest.
pub(crate) const CYCLE: Span = Span::from_nanos(8_090_170);

/// Makes a worker rest when it has worked for its share of a cycle. All workers of a part begin their cycles together, so
/// that they work at the same time and rest at the same time.
pub(crate) struct DutyCycle<'a> {
    /// Where the time to work in each cycle is read; `None`: it never rests.
    of: Option<&'a Scoreboard>,
    /// The beginning of the cycle in which it works.
    began: MonotonicTime,
}

impl<'a> DutyCycle<'a> {
    /// That of a worker of the part that `of` belongs to.
    pub(crate) fn new(of: &'a Scoreboard) -> Self {
        let of = of.window().map(|_| of);
        Self { of, began: cycle_of(clock::now()) }
    }

    /// Rests when it is time. Call it after each operation; one that takes longer than a cycle makes the rest
    /// longer in proportion.
    #[inline]
    pub(crate) fn throttle(&mut self) -> io::Result<()> {
        match self.window() {
            None => Ok(()),
            Some(window) => self.rest_after(window, clock::now()),
        }
    }

    /// Whether it is time to rest; never where it works all the time.
    pub(crate) fn is_over(&self) -> bool {
        self.window().is_some_and(|window| clock::now().since(self.began) >= window)
    }

    fn window(&self) -> Option<Span> {
        self.of.and_then(Scoreboard::window)
    }

    fn rest_after(&mut self, window: Span, now: MonotonicTime) -> io::Result<()> {
        let worked = now.since(self.began);
        if worked < window {
            return Ok(());
        }
        self.began = next_cycle(self.began, worked, window);
        if self.began > now { clock::sleep_for(self.began.since(now)) } else { Ok(()) }
    }
}

fn cycle_of(time: MonotonicTime) -> MonotonicTime {
    let into = time.as_nanos().unsigned_abs() % CYCLE.as_nanos();
    time.minus(Span::from_nanos(into))
}

/// The cycle in which to work again after having `worked` since `began`, where each cycle has `window` for work. It may have
/// begun already.
fn next_cycle(began: MonotonicTime, worked: Span, window: Span) -> MonotonicTime {
    let window = window.as_nanos().max(1);
    let cycles = (worked.as_nanos() + window / 2) / window;
    began.plus(CYCLE.times(cycles.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(worked: u64, window: u64, cycles: u64) {
        let (worked, window) = (Span::from_micros(worked), Span::from_micros(window));
        let began = cycle_of(MonotonicTime::from_nanos(1_000_000_000));
        assert_eq!(next_cycle(began, worked, window), began.plus(CYCLE.times(cycles)));
        assert_eq!(cycle_of(began.plus(worked.min(Span::from_millis(8)))), began);
    }

    #[test]
    fn rest_is_in_proportion_to_work() {
        check(4_050, 4_000, 1);
        // An operation of 12 ms where each cycle has 4 ms for work takes the work of three.
        check(12_000, 4_000, 3);
        check(3_000, 80, 38);
        // No rest: the next cycle has begun.
        check(8_100, 8_090, 1);
        check(20_000, 8_090, 2);
        check(5, 0, 5_000);
    }
}
