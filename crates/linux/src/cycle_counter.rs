//! The processor's own count of time.

use howlate_model::MonotonicTime;

use crate::clock;

/// One moment by both: the processor's ticks, and `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// What the CPU's counter said, in its own ticks.
    pub ticks: u64,
    /// What `CLOCK_MONOTONIC` said.
    pub clock: MonotonicTime,
}

/// Pairs of readings of which the closest counts, so that an interruption between two does not.
const PAIRS: usize = 8;

/// Now, by both; `None` on processors whose ticks programs do not read alike.
///
/// Source: <https://www.felixcloutier.com/x86/rdtsc>, <https://man7.org/linux/man-pages/man2/clock_gettime.2.html>
///
/// Whether the clock is made of the ticks stands in `/sys/devices/system/clocksource/clocksource0/current_clocksource`.
pub fn now() -> Option<Moment> {
    let pair = || {
        let before = read()?;
        let clock = clock::now();
        let after = read()?;
        let apart = after.checked_sub(before)?;
        Some((apart, Moment { ticks: before + apart / 2, clock }))
    };
    (0..PAIRS).filter_map(|_| pair()).min_by_key(|(apart, _)| *apart).map(|(_, moment)| moment)
}

/// `RDTSC`: the time-stamp counter.
///
/// Source: <https://www.felixcloutier.com/x86/rdtsc>
#[cfg(target_arch = "x86_64")]
fn read() -> Option<u64> {
    // SAFETY: every processor of this architecture has the instruction.
    Some(unsafe { std::arch::x86_64::_rdtsc() })
}

#[cfg(not(target_arch = "x86_64"))]
const fn read() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_go_on() {
        let Some(one) = now() else {
            return howlate_testing::skip("programs do not read this processor's ticks alike");
        };
        let other = now().unwrap();
        assert!(other.ticks > one.ticks && other.clock >= one.clock);
    }
}
