//! Detects when the CPU was taken away, by reading the clock in a loop.

use howlate_linux::clock;
use howlate_model::{MonotonicInterval, MonotonicTime};

/// Two readings further apart than this many nanoseconds were interrupted: even an interrupt takes longer than the loop.
const MAX_APART: u64 = 2_000;

/// Reads the clock until `until`, and calls `gap` for each interruption. The time that `gap` takes is part of the next one.
pub(crate) fn watch(until: MonotonicTime, gap: impl FnMut(MonotonicInterval)) {
    gaps(std::iter::repeat_with(clock::now), until, gap);
}

/// Consecutive gaps share a reading: where reading the clock is a system call, the CPU may also be lost on the return from it, after the
/// time was taken.
fn gaps(
    mut readings: impl Iterator<Item = MonotonicTime>,
    until: MonotonicTime,
    mut gap: impl FnMut(MonotonicInterval),
) {
    let Some(mut last) = readings.next() else { return };
    for now in readings {
        if now.since(last).as_nanos() > MAX_APART {
            gap(MonotonicInterval { from: last, until: now });
        }
        last = now;
        if last >= until {
            return;
        }
    }
}

/// Uses the CPU until `until`; returns when it had it, between the gaps.
pub(crate) fn runs_until(until: MonotonicTime) -> Vec<MonotonicInterval> {
    let mut stamps = Vec::new();
    let (mut from, mut last) = (clock::now(), clock::now());
    while last < until {
        let now = clock::now();
        if now.since(last).as_nanos() > MAX_APART {
            stamps.push(MonotonicInterval { from, until: last });
            // The push may lose the CPU as well: the next stamp starts with a reading after it.
            from = clock::now();
            last = from;
        } else {
            last = now;
        }
    }
    stamps.push(MonotonicInterval { from, until: last });
    stamps
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use howlate_model::Span;

    use super::*;

    #[test]
    fn no_time_is_lost_between_two_gaps() {
        // A reading each microsecond; the CPU is lost for 5 µs at 10, and for 6 ms while that gap is looked at.
        let at = |micros: i64| MonotonicTime::from_nanos(micros * 1_000);
        let time = Cell::new(0);
        let readings = std::iter::repeat_with(|| {
            time.set(time.get() + if time.get() == 10 { 5 } else { 1 });
            at(time.get())
        });
        let mut seen = Vec::new();
        gaps(readings, at(10_000), |gap| {
            if seen.is_empty() {
                time.set(time.get() + 6_000);
            }
            seen.push((gap.from, gap.until.since(gap.from)));
        });
        assert_eq!(seen, [(at(10), Span::from_micros(5)), (at(15), Span::from_micros(6_001))]);
    }
}
