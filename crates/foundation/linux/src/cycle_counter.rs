//! The CPU's cycle counter: the TSC, or Arm's virtual counter.

use howlate_model::MonotonicTime;

use crate::clock;

/// The cycle counter and `CLOCK_MONOTONIC` at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterReading {
    pub ticks: u64,
    pub clock: MonotonicTime,
}

/// The closest of this many pairs of readings counts, so that a preemption between two readings does not.
const PAIRS: usize = 8;

/// Reads both now; `None` on architectures where `read` is not available.
///
/// Source: <https://www.felixcloutier.com/x86/rdtsc>, <https://man7.org/linux/man-pages/man2/clock_gettime.2.html>
///
/// Whether the clock is derived from this counter stands in `/sys/devices/system/clocksource/clocksource0/current_clocksource`.
pub fn now() -> Option<CounterReading> {
    let pair = || {
        let before = read()?;
        let clock = clock::now();
        let after = read()?;
        let apart = after.checked_sub(before)?;
        Some((apart, CounterReading { ticks: before + apart / 2, clock }))
    };
    (0..PAIRS).filter_map(|_| pair()).min_by_key(|(apart, _)| *apart).map(|(_, reading)| reading)
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

/// `RDTSC`, not serialised with the instructions before it: for loops that only read it.
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

/// `CLOCK_MONOTONIC` in nanoseconds, where programs cannot read a counter.
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
        let Some(first) = now() else {
            return howlate_testing::skip("this processor's counter cannot be read here");
        };
        let second = now().unwrap();
        assert!(second.ticks > first.ticks && second.clock >= first.clock);
    }
}
