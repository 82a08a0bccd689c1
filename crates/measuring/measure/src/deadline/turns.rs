//! The loop: gives the rest of the runtime back, and reads the clock when it has a CPU again.

use howlate_linux::clock;
use howlate_model::{Latency, MonotonicTime, Span, Wakeup};
use rustix::thread::sched_yield;

use crate::loops::Stop;
use crate::ring::RingWriter;

/// The world as the loop sees it.
pub(super) trait Replenished {
    /// Waits for the next period, and reads the clock.
    fn next_period(&mut self) -> MonotonicTime;
}

/// `sched_yield(2)`: a deadline thread that calls it runs no more until its next period begins.
///
/// Source: <https://docs.kernel.org/scheduler/sched-deadline.html>
pub(super) struct Yielding;

impl Replenished for Yielding {
    #[inline]
    fn next_period(&mut self) -> MonotonicTime {
        sched_yield();
        clock::raw()
    }
}

/// Stores each time at which a period began and at which the thread ran, until it is stopped; returns what was above the
/// threshold.
///
/// The kernel does not say when a period begins. They are counted from the first one; whoever runs earlier than that shows that
/// the first one had begun earlier than it was seen.
#[inline]
pub(super) fn turn(
    period: Span,
    stop_above: Latency,
    world: &mut impl Replenished,
    stop: &Stop,
    out: &mut RingWriter,
) -> Option<Wakeup> {
    let mut begins = world.next_period().plus(period);
    while !stop.is_asked() {
        let ran = world.next_period();
        let wakeup = Wakeup { expected: begins.min(ran), ran };
        out.push(wakeup);
        if wakeup.latency() > stop_above {
            stop.above(wakeup.latency());
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
    use crate::ring::Ring;

    /// Runs at these times; asks for the end with the last one.
    struct Scripted<'a> {
        times: std::slice::Iter<'a, i64>,
        stop: &'a Stop,
    }

    impl Replenished for Scripted<'_> {
        fn next_period(&mut self) -> MonotonicTime {
            let time = *self.times.next().unwrap();
            if self.times.len() == 0 {
                self.stop.ask();
            }
            MonotonicTime::from_nanos(time)
        }
    }

    /// Latencies with a period of 100.
    #[track_caller]
    fn check(times: &[i64], above: Latency, latencies: &[i64]) -> Option<Wakeup> {
        let (stop, ring) = (Stop::default(), Ring::new(16));
        let mut out = RingWriter::new(std::sync::Arc::clone(&ring));
        let mut world = Scripted { times: times.iter(), stop: &stop };
        let found = turn(Span::from_nanos(100), above, &mut world, &stop, &mut out);
        let mut got = Vec::new();
        ring.drain(|arrived| got.extend(arrived.wakeups().map(|one| one.latency().as_nanos())));
        assert_eq!(got, latencies);
        found
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
    fn who_runs_earlier_moves_all_later_periods() {
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
