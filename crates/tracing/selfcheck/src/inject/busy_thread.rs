//! `thread`: a thread of higher priority that takes the CPU repeatedly. `competitors`: normal threads that never sleep. `throttled`: one
//! that uses up the quota of its cgroup.

use howlate_linux::clock;
use howlate_model::{InjectedCause, MonotonicInterval, Span};
use howlate_procfs::{CpuStat, Root};

use super::clock_reader::{runs_until, watch};
use super::task::{InjectionWindow, InjectorReport, PreparedTask, sleep_until};

/// Shortest gap for which the kernel's counters are read: a shorter one ends no quota period.
const MIN_GAP: Span = Span::from_millis(1);

pub(crate) fn prepare(mut cause: InjectedCause, group: Option<String>) -> PreparedTask {
    Box::new(move |window| {
        sleep_until(window.start);
        cause.stamps = match group {
            Some(folder) => throttled_stamps(&folder, window),
            None => runs_until(window.end),
        };
        Ok(InjectorReport { cause: Some(cause), ..InjectorReport::default() })
    })
}

const HOG_RUNS_FOR: Span = Span::from_micros(400);
/// Nine periods of the measured thread.
const HOG_EVERY: Span = Span::from_millis(9);
/// Earliest and latest start before an expected wake-up of the measured thread, in nanoseconds.
const HOG_BEFORE: [u64; 2] = [50_000, 350_000];

pub(crate) fn prepare_hog(mut cause: InjectedCause) -> PreparedTask {
    Box::new(move |window| {
        for (number, time) in (0_u64..).zip(window.grid(HOG_EVERY, HOG_EVERY)) {
            let earlier = HOG_BEFORE[0] + number * 7_919 % (HOG_BEFORE[1] - HOG_BEFORE[0]);
            sleep_until(time.minus(Span::from_nanos(earlier)));
            cause.stamps.extend(runs_until(clock::now().plus(HOG_RUNS_FOR)));
        }
        Ok(InjectorReport { cause: Some(cause), ..InjectorReport::default() })
    })
}

/// When the cgroup was throttled: gaps during which the kernel counted a throttled period, for as long as it counted.
fn throttled_stamps(group: &str, window: InjectionWindow) -> Vec<MonotonicInterval> {
    let mut stamps = Vec::new();
    let mut before = ThrottleCounts::read(group);
    watch(window.end, |gap| {
        if gap.until.since(gap.from) >= MIN_GAP {
            let after = ThrottleCounts::read(group);
            // Throttling while the counters were read is not part of the gap.
            let is_over = clock::now().since(gap.until) < MIN_GAP;
            let duration = after.single_since(before).filter(|_| is_over);
            stamps.extend(duration.and_then(|duration| surely_within(gap, duration)));
            before = after;
        }
    });
    stamps
}

/// The kernel's counters of a cgroup: throttled periods, and their total duration.
#[derive(Clone, Copy)]
struct ThrottleCounts {
    periods: u64,
    duration: Span,
}

impl ThrottleCounts {
    fn read(group: &str) -> Self {
        let stat = CpuStat::in_folder(&Root::live(), group);
        Self {
            periods: stat.throttled().unwrap_or_default(),
            duration: stat.throttled_time().unwrap_or_default(),
        }
    }

    /// Duration of the only throttling since `before`; `None` if there was none or several, or if it also fits into a gap too short to be
    /// examined: then it is not known in which gap it was.
    fn single_since(self, before: Self) -> Option<Span> {
        let duration = self.duration.minus(before.duration);
        (self.periods == before.periods + 1 && duration >= MIN_GAP).then_some(duration)
    }
}

/// The part of a gap that surely belongs to an event in it of this duration: before and after it other threads, such as the measured one,
/// may have had the CPU. `None` if the event was longer than the gap: part of it belongs elsewhere.
pub(crate) fn surely_within(gap: MonotonicInterval, duration: Span) -> Option<MonotonicInterval> {
    let (from, until) = (gap.until.minus(duration), gap.from.plus(duration));
    (gap.from <= from && from < until).then_some(MonotonicInterval { from, until })
}

#[cfg(test)]
mod tests {
    use howlate_model::MonotonicTime;

    use super::*;

    // 0    100  200  300  400
    // |----|----|----|----|
    //      |---- gap -----|
    //      |-- 250 --|         at the earliest
    //           |-- 250 --|    at the latest
    //           |----|         surely
    #[test]
    fn of_a_stop_that_was_shorter_than_its_gap_only_the_middle_is_claimed() {
        let at = MonotonicTime::from_nanos;
        let gap = || MonotonicInterval { from: at(100), until: at(400) };
        let within_gap = |duration| surely_within(gap(), Span::from_nanos(duration));
        assert_eq!(within_gap(250), Some(MonotonicInterval { from: at(150), until: at(350) }));
        assert_eq!(within_gap(300), Some(gap()));
        assert_eq!(within_gap(301), None, "another one was counted with it");
        assert_eq!((within_gap(150), within_gap(0)), (None, None));
    }

    #[test]
    fn a_stop_is_claimed_where_it_is_the_only_one_and_fits_into_no_gap_that_is_not_asked_about() {
        let counts = |periods, micros| ThrottleCounts { periods, duration: Span::from_micros(micros) };
        let since =
            |periods: u64, micros: u64| counts(3 + periods, 500 + micros).single_since(counts(3, 500));
        assert_eq!(since(1, 4_000), Some(Span::from_millis(4)));
        assert_eq!(since(1, 1_000), Some(MIN_GAP));
        assert_eq!((since(1, 999), since(0, 4_000), since(2, 4_000)), (None, None, None));
    }
}
