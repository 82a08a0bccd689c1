//! Times of a program, in whatever it counts, as readings of `CLOCK_MONOTONIC`.

use std::collections::VecDeque;

use howlate_linux::clock;
use howlate_linux::cycle_counter::{self, Moment};
use howlate_model::MonotonicTime;

/// Moments that are remembered; a turn may have begun some looks ago.
const KEPT: usize = 64;

/// Moments at which both were read.
pub(super) struct Moments {
    /// None where times are readings of the clock.
    known: VecDeque<Moment>,
    began: MonotonicTime,
    now: MonotonicTime,
}

impl Moments {
    /// From now on; by ticks if these are wanted and can be had.
    pub(super) fn begin(by_ticks: bool) -> Self {
        let known = by_ticks.then(cycle_counter::now).flatten().into_iter().collect();
        let now = clock::now();
        Self { known, began: now, now }
    }

    /// Readings of the clock from `began` on.
    pub(super) fn readings_since(began: MonotonicTime) -> Self {
        Self { known: VecDeque::new(), began, now: clock::now() }
    }

    /// Whether times are ticks.
    pub(super) fn are_ticks(&self) -> bool {
        !self.known.is_empty()
    }

    /// Looks at both again; what is to be told lies before.
    pub(super) fn look(&mut self) {
        if self.are_ticks() {
            if self.known.len() == KEPT {
                self.known.pop_front();
            }
            self.known.extend(cycle_counter::now());
        }
        self.now = clock::now();
    }

    /// When that was; `None` where it cannot have been.
    pub(super) fn when(&self, time: u64) -> Option<MonotonicTime> {
        if self.are_ticks() { self.been(self.by_ticks(time)?) } else { self.when_read(time) }
    }

    /// When a reading of the clock was made; `None` where none can have been.
    pub(super) fn when_read(&self, time: u64) -> Option<MonotonicTime> {
        self.been(at(i128::from(time))?)
    }

    fn been(&self, when: MonotonicTime) -> Option<MonotonicTime> {
        (self.began..=self.now).contains(&when).then_some(when)
    }

    /// The line through the two moments around it.
    fn by_ticks(&self, time: u64) -> Option<MonotonicTime> {
        let after = self.known.partition_point(|one| one.ticks < time).clamp(1, self.known.len() - 1);
        let (from, to) = (self.known.get(after - 1)?, self.known.get(after)?);
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
        let moment = |ticks, clock| Moment { ticks, clock: MonotonicTime::from_nanos(clock) };
        let known = [moment(1_000, 10), moment(2_000, 510), moment(4_000, 1_010)].into();
        let (began, now) = (MonotonicTime::from_nanos(10), MonotonicTime::from_nanos(1_010));
        let moments = Moments { known, began, now };
        let when = |ticks| moments.when(ticks).map(MonotonicTime::as_nanos);
        assert_eq!([when(1_500), when(2_000), when(3_000)], [Some(260), Some(510), Some(760)]);
        assert_eq!(
            moments.when_read(500),
            Some(MonotonicTime::from_nanos(500)),
            "a reading of the clock is one"
        );
        assert_eq!(moments.when_read(1_500), None, "to come");
        assert_eq!([when(0), when(4_100), when(u64::MAX)], [None; 3], "before it began, to come, never");
    }

    #[test]
    fn without_ticks_times_are_readings_of_the_clock() {
        let mut moments = Moments::begin(false);
        let now = clock::now();
        moments.look();
        assert_eq!(moments.when(now.as_nanos().unsigned_abs()), Some(now));
        assert_eq!(moments.when(u64::MAX), None);
    }
}
