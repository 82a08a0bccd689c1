//! The loop: reads the counter, and compares it with what it read before.

use std::sync::atomic::{AtomicBool, Ordering};

use super::counter::Counter;

/// What the loop counted, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turns {
    pub(super) turns: u64,
    pub(super) shortest: u64,
    pub(super) lasted: u64,
}

/// Reads the counter for `lasts` or until `ending`, does `between` before each reading, and hands on what lies between two
/// readings that are `above` apart.
///
/// What handing on takes is part of the next turn, so that nothing goes unseen.
#[inline(always)]
pub(super) fn spin<C: Counter>(
    above: u64,
    lasts: u64,
    ending: &AtomicBool,
    mut between: impl FnMut(),
    mut gap: impl FnMut(u64),
) -> Turns {
    let began = C::read();
    let ends = began.saturating_add(lasts);
    let (mut last, mut turns, mut shortest) = (began, 0, u64::MAX);
    while last < ends && !ending.load(Ordering::Relaxed) {
        between();
        let now = C::read();
        let passed = now.saturating_sub(last);
        if passed >= above {
            gap(passed);
        }
        shortest = shortest.min(passed);
        last = now;
        turns += 1;
    }
    Turns { turns, shortest: if turns == 0 { 0 } else { shortest }, lasted: last.saturating_sub(began) }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    thread_local! {
        static READINGS: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    }

    #[derive(Clone, Copy)]
    struct Scripted;

    impl Counter for Scripted {
        fn read() -> u64 {
            READINGS.with_borrow_mut(|readings| readings.pop().unwrap())
        }
    }

    // 100 102   110 112 113        130
    // |---|------|---|--|-----------|
    //          ^ 8               ^ 17, and the end
    #[test]
    fn what_lies_between_two_readings_is_a_gap_if_it_is_long_enough() {
        READINGS.set(vec![130, 113, 112, 110, 102, 100]);
        let mut gaps = Vec::new();
        let turns = spin::<Scripted>(8, 20, &AtomicBool::new(false), || (), |passed| gaps.push(passed));
        assert_eq!(gaps, [8, 17]);
        assert_eq!(turns, Turns { turns: 5, shortest: 1, lasted: 30 });
    }

    #[test]
    fn the_counter_of_another_cpu_may_be_behind() {
        READINGS.set(vec![130, 90, 100]);
        let turns = spin::<Scripted>(1_000, 20, &AtomicBool::new(false), || (), |_| {});
        assert_eq!(turns, Turns { turns: 2, shortest: 0, lasted: 30 });
        READINGS.set(vec![90, 100]);
        let is_over = AtomicBool::new(false);
        let between = || is_over.store(true, Ordering::Relaxed);
        assert_eq!(spin::<Scripted>(8, 20, &is_over, between, |_| {}).lasted, 0);
    }

    #[test]
    fn it_ends_when_it_is_asked_to() {
        READINGS.set(vec![100]);
        let turns = spin::<Scripted>(8, u64::MAX, &AtomicBool::new(true), || (), |_| {});
        assert_eq!(turns, Turns { turns: 0, shortest: 0, lasted: 0 });
    }

    #[test]
    fn a_counter_that_goes_back_is_no_gap() {
        READINGS.set(vec![120, 90, 100]);
        let mut gaps = Vec::new();
        spin::<Scripted>(25, 20, &AtomicBool::new(false), || (), |passed| gaps.push(passed));
        assert_eq!(gaps, [30]);
    }
}
