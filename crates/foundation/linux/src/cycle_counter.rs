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

/// Whether [`ticks`] reads a counter of the processor.
pub const HAS_TICKS: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// `RDTSC`, without waiting for what comes before: for loops that do nothing but read it.
///
/// Source: <https://www.felixcloutier.com/x86/rdtsc>
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn ticks() -> u64 {
    // SAFETY: every processor of this architecture has the instruction.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// `CNTVCT_EL0`: the virtual counter.
///
/// Source: Arm Architecture Reference Manual for A-profile, "Counter-timer Virtual Count Register".
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub fn ticks() -> u64 {
    let count: u64;
    // SAFETY: Linux lets programs read this register, which has no effect on memory.
    unsafe {
        std::arch::asm!("mrs {}, cntvct_el0", out(reg) count, options(nomem, nostack, preserves_flags));
    }
    count
}

/// Nanoseconds, where programs do not read a counter.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline]
pub fn ticks() -> u64 {
    clock::now().as_nanos().unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_go_on() {
        let readings: Vec<u64> = (0..1_000).map(|_| ticks()).collect();
        assert!(readings.is_sorted() && readings[999] > readings[0]);
    }

    #[test]
    fn both_go_on() {
        let Some(one) = now() else {
            return howlate_testing::skip("programs do not read this processor's ticks alike");
        };
        let other = now().unwrap();
        assert!(other.ticks > one.ticks && other.clock >= one.clock);
    }
}
