//! Duty cycle of workers at less than full intensity.

use std::io;

use howlate_linux::clock;
use howlate_model::{MonotonicTime, Span};

use crate::scoreboard::Scoreboard;

/// Length of work and rest together: 10 ms times half the golden ratio, so that no commonly measured period is in phase with
/// it and always meets work, or always rest.
pub(crate) const CYCLE: Span = Span::from_nanos(8_090_170);

/// Makes a worker rest when it has worked for its share of a cycle. All workers of a part start their cycles together, so
/// that they work and rest at the same time.
pub(crate) struct DutyCycle<'a> {
    /// Holds the time to work in each cycle; `None`: the worker never rests.
    scoreboard: Option<&'a Scoreboard>,
    /// Start of the current cycle.
    cycle_start: MonotonicTime,
}

impl<'a> DutyCycle<'a> {
    pub(crate) fn new(scoreboard: &'a Scoreboard) -> Self {
        let limited = scoreboard.window().map(|_| scoreboard);
        Self { scoreboard: limited, cycle_start: cycle_of(clock::now()) }
    }

    /// Rests if the work time is used up. Call it after each operation; an operation longer than a cycle makes the
    /// rest longer in proportion.
    #[inline]
    pub(crate) fn throttle(&mut self) -> io::Result<()> {
        match self.window() {
            None => Ok(()),
            Some(window) => self.rest_after(window, clock::now()),
        }
    }

    /// Whether it is time to rest; never at full intensity.
    pub(crate) fn is_over(&self) -> bool {
        self.window().is_some_and(|window| clock::now().since(self.cycle_start) >= window)
    }

    fn window(&self) -> Option<Span> {
        self.scoreboard.and_then(Scoreboard::window)
    }

    fn rest_after(&mut self, window: Span, now: MonotonicTime) -> io::Result<()> {
        let worked = now.since(self.cycle_start);
        if worked < window {
            return Ok(());
        }
        self.cycle_start = next_cycle(self.cycle_start, worked, window);
        if self.cycle_start > now { clock::sleep_for(self.cycle_start.since(now)) } else { Ok(()) }
    }
}

fn cycle_of(time: MonotonicTime) -> MonotonicTime {
    let offset = time.as_nanos().unsigned_abs() % CYCLE.as_nanos();
    time.minus(Span::from_nanos(offset))
}

/// Start of the next cycle in which to work after having `worked` since `cycle_start`, where each cycle has `window` for work. It
/// may be in the past.
fn next_cycle(cycle_start: MonotonicTime, worked: Span, window: Span) -> MonotonicTime {
    let window = window.as_nanos().max(1);
    let cycles = (worked.as_nanos() + window / 2) / window;
    cycle_start.plus(CYCLE.times(cycles.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(worked: u64, window: u64, cycles: u64) {
        let (worked, window) = (Span::from_micros(worked), Span::from_micros(window));
        let start = cycle_of(MonotonicTime::from_nanos(1_000_000_000));
        assert_eq!(next_cycle(start, worked, window), start.plus(CYCLE.times(cycles)));
        assert_eq!(cycle_of(start.plus(worked.min(Span::from_millis(8)))), start);
    }

    #[test]
    fn rest_is_proportional_to_work() {
        check(4_050, 4_000, 1);
        // An operation of 12 ms where each cycle has 4 ms for work takes the work of three.
        check(12_000, 4_000, 3);
        check(3_000, 80, 38);
        // No rest: the next cycle has started.
        check(8_100, 8_090, 1);
        check(20_000, 8_090, 2);
        check(5, 0, 5_000);
    }
}
