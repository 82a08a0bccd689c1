//! `competitors`: ordinary threads that never sleep. `throttled`: one that uses up the quota of its control group.

use howlate_model::{InjectedCause, Span, Stamp};
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
fn stops(group: &str, stretch: Stretch) -> Vec<Stamp> {
    let mut stamps = Vec::new();
    let mut before = stopped(group);
    let mut short = Span::ZERO;
    watch(stretch.end, |gap| {
        let length = gap.until.since(gap.from);
        if length < STOPPED {
            short = short.plus(length);
            return;
        }
        let after = stopped(group);
        // It may have been stopped in the short ones as well, and it is not known for how long.
        let lasted = after.minus(before).minus(std::mem::take(&mut short));
        before = after;
        stamps.extend(surely_within(gap, lasted));
    });
    stamps
}

/// What of a gap is surely part of something in it that `lasted` so long. Others may have had the CPU before it, the measured
/// thread among them, and after it. Nothing is, of what lasted longer than the gap: part of it belongs elsewhere.
pub(crate) fn surely_within(gap: Stamp, lasted: Span) -> Option<Stamp> {
    let (from, until) = (gap.until.minus(lasted), gap.from.plus(lasted));
    (gap.from <= from && from < until).then_some(Stamp { from, until })
}

/// How long the group was stopped so far.
fn stopped(group: &str) -> Span {
    CpuStat::in_folder(&Root::live(), group).throttled_time().unwrap_or_default()
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
        let gap = || Stamp { from: at(100), until: at(400) };
        let claimed = |lasted| surely_within(gap(), Span::from_nanos(lasted));
        assert_eq!(claimed(250), Some(Stamp { from: at(150), until: at(350) }));
        assert_eq!(claimed(300), Some(gap()));
        assert_eq!(claimed(301), None, "another one was counted with it");
        assert_eq!((claimed(150), claimed(0)), (None, None));
    }
}
