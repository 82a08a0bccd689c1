//! `competitors`: ordinary threads that never sleep. `throttled`: one that uses up the quota of its control group.

use howlate_linux::clock;
use howlate_model::{InjectedCause, MonotonicInterval, Span};
use howlate_procfs::{CpuStat, Root};

use super::clock_reader::{runs_until, watch};
use super::request::{InjectorReport, Stretch};
use super::work::{Work, sleep_until};

/// The kernel is asked about gaps from this length on: a shorter one ends no period of a quota.
const STOPPED: Span = Span::from_millis(1);

pub(crate) fn prepare(mut known: InjectedCause, group: Option<String>) -> Work {
    Box::new(move |stretch| {
        sleep_until(stretch.start);
        known.stamps = match group {
            Some(folder) => stops(&folder, stretch),
            None => runs_until(stretch.end),
        };
        Ok(InjectorReport { known: Some(known), ..InjectorReport::default() })
    })
}

/// When the group had no time left: within gaps in which the kernel has stopped it, for as long as the kernel says.
fn stops(group: &str, stretch: Stretch) -> Vec<MonotonicInterval> {
    let mut stamps = Vec::new();
    let mut before = Stops::so_far(group);
    watch(stretch.end, |gap| {
        if gap.until.since(gap.from) >= STOPPED {
            let after = Stops::so_far(group);
            // One that came while that was read is no part of the gap.
            let is_over = clock::now().since(gap.until) < STOPPED;
            let lasted = after.only_one_since(before).filter(|_| is_over);
            stamps.extend(lasted.and_then(|lasted| surely_within(gap, lasted)));
            before = after;
        }
    });
    stamps
}

/// What the kernel has counted of a group: periods in which it was stopped, and for how long in all.
#[derive(Clone, Copy)]
struct Stops {
    periods: u64,
    lasted: Span,
}

impl Stops {
    fn so_far(group: &str) -> Self {
        let counted = CpuStat::in_folder(&Root::live(), group);
        Self {
            periods: counted.throttled().unwrap_or_default(),
            lasted: counted.throttled_time().unwrap_or_default(),
        }
    }

    /// How long the only stop since `before` was; `None` where there were none or several, or where a gap that is not asked about has
    /// room for it: it is not known then which of them was in which gap.
    fn only_one_since(self, before: Self) -> Option<Span> {
        let lasted = self.lasted.minus(before.lasted);
        (self.periods == before.periods + 1 && lasted >= STOPPED).then_some(lasted)
    }
}

/// What of a gap is surely part of something in it that `lasted` so long. Others may have had the CPU before it, the measured
/// thread among them, and after it. Nothing is, of what lasted longer than the gap: part of it belongs elsewhere.
pub(crate) fn surely_within(gap: MonotonicInterval, lasted: Span) -> Option<MonotonicInterval> {
    let (from, until) = (gap.until.minus(lasted), gap.from.plus(lasted));
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
        let claimed = |lasted| surely_within(gap(), Span::from_nanos(lasted));
        assert_eq!(claimed(250), Some(MonotonicInterval { from: at(150), until: at(350) }));
        assert_eq!(claimed(300), Some(gap()));
        assert_eq!(claimed(301), None, "another one was counted with it");
        assert_eq!((claimed(150), claimed(0)), (None, None));
    }

    #[test]
    fn a_stop_is_claimed_where_it_is_the_only_one_and_fits_into_no_gap_that_is_not_asked_about() {
        let stops = |periods, micros| Stops { periods, lasted: Span::from_micros(micros) };
        let since =
            |periods: u64, micros: u64| stops(3 + periods, 500 + micros).only_one_since(stops(3, 500));
        assert_eq!(since(1, 4_000), Some(Span::from_millis(4)));
        assert_eq!(since(1, 1_000), Some(STOPPED));
        assert_eq!((since(1, 999), since(0, 4_000), since(2, 4_000)), (None, None, None));
    }
}
