//! The loop: reads the counter, and compares it with the previous reading.

use std::sync::atomic::{AtomicBool, Ordering};

use super::counter::Counter;

/// Totals of the loop, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LoopTotals {
    pub(super) iterations: u64,
    pub(super) shortest: u64,
    pub(super) elapsed: u64,
}

/// Reads the counter for `duration` or until `stop`, calls `before_reading` before each reading, and calls `gap` with the time
/// between two readings if it is at least `threshold`.
///
/// The time that `gap` takes is part of the next iteration, so that no time is missed.
#[inline(always)]
pub(super) fn spin<C: Counter>(
    threshold: u64,
    duration: u64,
    stop: &AtomicBool,
    mut before_reading: impl FnMut(),
    mut gap: impl FnMut(u64),
) -> LoopTotals {
    let start = C::read();
    let end = start.saturating_add(duration);
    let (mut last, mut iterations, mut shortest) = (start, 0, u64::MAX);
    while last < end && !stop.load(Ordering::Relaxed) {
        before_reading();
        let now = C::read();
        let passed = now.saturating_sub(last);
        if passed >= threshold {
            gap(passed);
        }
        shortest = shortest.min(passed);
        last = now;
        iterations += 1;
    }
    LoopTotals {
        iterations,
        shortest: if iterations == 0 { 0 } else { shortest },
        elapsed: last.saturating_sub(start),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    thread_local! {
        static READINGS: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    }

    #[derive(Clone, Copy)]
    struct ScriptedCounter;

    impl Counter for ScriptedCounter {
        fn read() -> u64 {
            READINGS.with_borrow_mut(|readings| readings.pop().unwrap())
        }
    }

    // 100 102   110 112 113        130
    // |---|------|---|--|-----------|
    //          ^ 8               ^ 17, and the end
    #[test]
    fn the_time_between_two_readings_is_a_gap_from_the_threshold_on() {
        READINGS.set(vec![130, 113, 112, 110, 102, 100]);
        let mut gaps = Vec::new();
        let totals =
            spin::<ScriptedCounter>(8, 20, &AtomicBool::new(false), || (), |passed| gaps.push(passed));
        assert_eq!(gaps, [8, 17]);
        assert_eq!(totals, LoopTotals { iterations: 5, shortest: 1, elapsed: 30 });
    }

    #[test]
    fn the_counter_of_another_cpu_may_be_behind() {
        READINGS.set(vec![130, 90, 100]);
        let totals = spin::<ScriptedCounter>(1_000, 20, &AtomicBool::new(false), || (), |_| {});
        assert_eq!(totals, LoopTotals { iterations: 2, shortest: 0, elapsed: 30 });
        READINGS.set(vec![90, 100]);
        let stop = AtomicBool::new(false);
        let before_reading = || stop.store(true, Ordering::Relaxed);
        assert_eq!(spin::<ScriptedCounter>(8, 20, &stop, before_reading, |_| {}).elapsed, 0);
    }

    #[test]
    fn it_ends_on_request() {
        READINGS.set(vec![100]);
        let totals = spin::<ScriptedCounter>(8, u64::MAX, &AtomicBool::new(true), || (), |_| {});
        assert_eq!(totals, LoopTotals { iterations: 0, shortest: 0, elapsed: 0 });
    }

    #[test]
    fn a_counter_that_goes_back_is_no_gap() {
        READINGS.set(vec![120, 90, 100]);
        let mut gaps = Vec::new();
        spin::<ScriptedCounter>(25, 20, &AtomicBool::new(false), || (), |passed| gaps.push(passed));
        assert_eq!(gaps, [30]);
    }
}
