//! Who reads the clock all the time notices when it has no CPU.

use howlate_linux::clock;
use howlate_model::{MonotonicTime, Stamp};

/// Two readings further apart than this were not made one after the other: an interrupt alone takes longer.
const APART: u64 = 2_000;

/// Reads the clock until `until`; hands each pair of readings to `gap` between which the CPU was gone.
pub(crate) fn watch(until: MonotonicTime, mut gap: impl FnMut(Stamp)) {
    let mut last = clock::now();
    while last < until {
        let now = clock::now();
        if now.since(last).as_nanos() > APART {
            gap(Stamp { from: last, until: now });
            // What `gap` takes is its own.
            last = clock::now();
        } else {
            last = now;
        }
    }
}

/// Takes the CPU until `until`; returns when it had it: between the gaps.
pub(crate) fn runs_until(until: MonotonicTime) -> Vec<Stamp> {
    let mut stamps = Vec::new();
    let (mut from, mut last) = (clock::now(), clock::now());
    while last < until {
        let now = clock::now();
        if now.since(last).as_nanos() > APART {
            stamps.push(Stamp { from, until: last });
            // Noting it down can cost it the CPU: both begin with one reading made after it.
            from = clock::now();
            last = from;
        } else {
            last = now;
        }
    }
    stamps.push(Stamp { from, until: last });
    stamps
}
