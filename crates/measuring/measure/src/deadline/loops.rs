//! The loop: yields the rest of the runtime, and reads the clock when it runs again.

use howlate_linux::clock;
use howlate_model::{Latency, MonotonicTime, Span, Wakeup};
use rustix::thread::sched_yield;

use crate::loops::Stop;
use crate::ring::RingWriter;

/// Waits for periods.
pub(super) trait PeriodWait {
    /// Waits for the next period, and reads the clock.
    fn next_period(&mut self) -> MonotonicTime;
}

/// `sched_yield(2)`: a deadline thread that calls it does not run until its next period starts.
///
/// Source: <https://docs.kernel.org/scheduler/sched-deadline.html>
pub(super) struct SchedYield;

impl PeriodWait for SchedYield {
    #[inline]
    fn next_period(&mut self) -> MonotonicTime {
        sched_yield();
        clock::raw()
    }
}

/// Stores the start of each period and the time at which the thread ran, until it is stopped; returns the wake-up above the
/// threshold.
///
/// The kernel does not report when periods start, so they are counted from the first run. A run before an assumed start shows
/// that the first one was late, and shifts all later periods.
#[inline]
pub(super) fn measure_periods(
    period: Span,
    stop_above: Latency,
    wait: &mut impl PeriodWait,
    stop: &Stop,
    out: &mut RingWriter,
) -> Option<Wakeup> {
    let mut begins = wait.next_period().plus(period);
    while !stop.is_requested() {
        let ran = wait.next_period();
        let wakeup = Wakeup { expected: begins.min(ran), ran };
        out.push(wakeup);
        if wakeup.latency() > stop_above {
            stop.stop_above(wakeup.latency());
            return Some(wakeup);
        }
        begins = wakeup.expected.plus(period);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loops::NEVER;
    use crate::ring::WakeupRing;

    /// Runs at these times; requests the stop with the last one.
    struct ScriptedPeriods<'a> {
        times: std::slice::Iter<'a, i64>,
        stop: &'a Stop,
    }

    impl PeriodWait for ScriptedPeriods<'_> {
        fn next_period(&mut self) -> MonotonicTime {
            let time = *self.times.next().unwrap();
            if self.times.len() == 0 {
                self.stop.request();
            }
            MonotonicTime::from_nanos(time)
        }
    }

    /// Latencies with a period of 100.
    #[track_caller]
    fn check(times: &[i64], above: Latency, latencies: &[i64]) -> Option<Wakeup> {
        let (stop, ring) = (Stop::default(), WakeupRing::new(16));
        let mut out = RingWriter::new(std::sync::Arc::clone(&ring));
        let mut wait = ScriptedPeriods { times: times.iter(), stop: &stop };
        let above_threshold = measure_periods(Span::from_nanos(100), above, &mut wait, &stop, &mut out);
        let mut got = Vec::new();
        ring.drain(|pending| got.extend(pending.wakeups().map(|wakeup| wakeup.latency().as_nanos())));
        assert_eq!(got, latencies);
        above_threshold
    }

    // 7    107   207   307
    // |----|-----|-----|
    //      ^ 0     ^ 13 ^ 2
    #[test]
    fn periods_are_counted_from_the_first() {
        assert!(check(&[7, 107, 220, 309], NEVER, &[0, 13, 2]).is_none());
    }

    // 50 (seen late)   150   240   340
    // |----------------|--|---|-----|
    //                   ^ 5 ^ earlier ^ 3
    #[test]
    fn an_early_run_shifts_all_later_periods() {
        check(&[50, 155, 240, 343, 441], NEVER, &[5, 0, 3, 1]);
    }

    // 0    100   200   300   400   500
    // |----|-----|-----|-----|-----|
    //      ^ 0                 ^ 210 for 200, and the kernel counts from there: 510 for 300
    #[test]
    fn a_period_that_is_missed_stays_in_all_later_latencies() {
        check(&[0, 100, 410, 510, 610], NEVER, &[0, 210, 210, 210]);
    }

    #[test]
    fn the_threshold_ends_it() {
        let found = check(&[0, 105, 221, 300], Latency::from_nanos(20), &[5, 21]);
        assert_eq!(found.unwrap().latency(), Latency::from_nanos(21));
        assert!(check(&[0, 120, 200], Latency::from_nanos(20), &[20, 0]).is_none());
    }
}
