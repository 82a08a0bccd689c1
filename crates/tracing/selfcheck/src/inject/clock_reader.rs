//! Who reads the clock all the time notices when it has no CPU.

use howlate_linux::clock;
use howlate_model::{MonotonicInterval, MonotonicTime};

/// Two readings further apart than this were not made one after the other: an interrupt alone takes longer.
const APART: u64 = 2_000;

/// Reads the clock until `until`; hands each pair of readings to `gap` between which the CPU was gone. What `gap` takes is part of
/// the next one.
pub(crate) fn watch(until: MonotonicTime, gap: impl FnMut(MonotonicInterval)) {
    gaps(std::iter::repeat_with(clock::now), until, gap);
}

/// No time is between two gaps: where the clock is read by a system call, the CPU is as often lost on the way back from it, when
/// the time has been read already, as anywhere else.
fn gaps(
    mut readings: impl Iterator<Item = MonotonicTime>,
    until: MonotonicTime,
    mut gap: impl FnMut(MonotonicInterval),
) {
    let Some(mut last) = readings.next() else { return };
    for now in readings {
        if now.since(last).as_nanos() > APART {
            gap(MonotonicInterval { from: last, until: now });
        }
        last = now;
        if last >= until {
            return;
        }
    }
}

/// Takes the CPU until `until`; returns when it had it: between the gaps.
pub(crate) fn runs_until(until: MonotonicTime) -> Vec<MonotonicInterval> {
    let mut stamps = Vec::new();
    let (mut from, mut last) = (clock::now(), clock::now());
    while last < until {
        let now = clock::now();
        if now.since(last).as_nanos() > APART {
            stamps.push(MonotonicInterval { from, until: last });
            // Noting it down can cost it the CPU: both begin with one reading made after it.
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
