//! Converts the times that a program wrote, processor ticks or nanoseconds, to `CLOCK_MONOTONIC`.

use std::collections::VecDeque;

use howlate_linux::clock;
use howlate_linux::cycle_counter::{self, CounterReading};
use howlate_model::MonotonicTime;

/// Readings that are remembered: a turn may have begun several reads ago.
const CAPACITY: usize = 64;

/// Pairs of readings of both clocks, between which times are interpolated.
pub(super) struct ClockConversion {
    /// Empty where times are nanoseconds of `CLOCK_MONOTONIC`.
    readings: VecDeque<CounterReading>,
    start: MonotonicTime,
    now: MonotonicTime,
}

impl ClockConversion {
    /// Accepts times from now on; ticks if requested and available.
    pub(super) fn new(interpolate: bool) -> Self {
        let readings = interpolate.then(cycle_counter::now).flatten().into_iter().collect();
        let now = clock::now();
        Self { readings, start: now, now }
    }

    /// Nanoseconds of `CLOCK_MONOTONIC` from `start` on.
    pub(super) fn nanoseconds_since(start: MonotonicTime) -> Self {
        Self { readings: VecDeque::new(), start, now: clock::now() }
    }

    pub(super) fn uses_ticks(&self) -> bool {
        !self.readings.is_empty()
    }

    /// Reads both clocks again: later times than now are not accepted.
    pub(super) fn update(&mut self) {
        if self.uses_ticks() {
            if self.readings.len() == CAPACITY {
                self.readings.pop_front();
            }
            self.readings.extend(cycle_counter::now());
        }
        self.now = clock::now();
    }

    /// The time of a value; `None` if it lies outside of the time of reading.
    pub(super) fn convert(&self, time: u64) -> Option<MonotonicTime> {
        if self.uses_ticks() { self.within(self.interpolate(time)?) } else { self.convert_nanos(time) }
    }

    /// As `convert`, of a value that is nanoseconds in any case.
    pub(super) fn convert_nanos(&self, time: u64) -> Option<MonotonicTime> {
        self.within(at(i128::from(time))?)
    }

    fn within(&self, time: MonotonicTime) -> Option<MonotonicTime> {
        (self.start..=self.now).contains(&time).then_some(time)
    }

    /// Interpolates between the two readings around it.
    fn interpolate(&self, time: u64) -> Option<MonotonicTime> {
        let after =
            self.readings.partition_point(|reading| reading.ticks < time).clamp(1, self.readings.len() - 1);
        let (from, to) = (self.readings.get(after - 1)?, self.readings.get(after)?);
        let ticks = i128::from(to.ticks.checked_sub(from.ticks).filter(|ticks| *ticks > 0)?);
        let nanos = i128::from(to.clock.as_nanos()) - i128::from(from.clock.as_nanos());
        let past = i128::from(time) - i128::from(from.ticks);
        at(i128::from(from.clock.as_nanos()) + past * nanos / ticks)
    }
}

fn at(nanos: i128) -> Option<MonotonicTime> {
    i64::try_from(nanos).ok().map(MonotonicTime::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    // ticks 1000      2000             4000
    //       |---------|----------------|      clock 10, 510, then at half the speed 1010
    #[test]
    fn a_time_lies_on_the_line_between_two_moments() {
        let reading = |ticks, clock| CounterReading { ticks, clock: MonotonicTime::from_nanos(clock) };
        let readings = [reading(1_000, 10), reading(2_000, 510), reading(4_000, 1_010)].into();
        let (start, now) = (MonotonicTime::from_nanos(10), MonotonicTime::from_nanos(1_010));
        let conversion = ClockConversion { readings, start, now };
        let convert = |ticks| conversion.convert(ticks).map(MonotonicTime::as_nanos);
        assert_eq!([convert(1_500), convert(2_000), convert(3_000)], [Some(260), Some(510), Some(760)]);
        assert_eq!(
            conversion.convert_nanos(500),
            Some(MonotonicTime::from_nanos(500)),
            "a reading of the clock is one"
        );
        assert_eq!(conversion.convert_nanos(1_500), None, "to come");
        assert_eq!(
            [convert(0), convert(4_100), convert(u64::MAX)],
            [None; 3],
            "before it began, to come, never"
        );
    }

    #[test]
    fn without_ticks_times_are_readings_of_the_clock() {
        let mut conversion = ClockConversion::new(false);
        let now = clock::now();
        conversion.update();
        assert_eq!(conversion.convert(now.as_nanos().unsigned_abs()), Some(now));
        assert_eq!(conversion.convert(u64::MAX), None);
    }
}
