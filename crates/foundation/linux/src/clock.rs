//! Reading clocks, and waiting on them.

use std::io;

use howlate_model::{MonotonicTime, Span, WaitClock, WallClockState};
use rustix::thread::{ClockId as SleepClock, NanosleepRelativeResult, clock_nanosleep_relative};
use rustix::time::{ClockId, Timespec, clock_getres};

const NANOS_PER_SEC: i64 = 1_000_000_000;

/// `clock_gettime(CLOCK_MONOTONIC)`, through the vDSO where the kernel offers it.
///
/// Source: <https://man7.org/linux/man-pages/man2/clock_gettime.2.html>
#[inline]
pub fn now() -> MonotonicTime {
    MonotonicTime::from_nanos(read(libc::CLOCK_MONOTONIC))
}

/// `clock_gettime(CLOCK_MONOTONIC_RAW)`: the hardware counter without NTP's adjustment of its rate. Only differences of two readings
/// are meaningful.
///
/// The kernel spaces the periods of `SCHED_DEADLINE` by its scheduler clock, which NTP does not change either: on
/// [`now`], 20 ppm would add 20 µs of latency each second.
///
/// Source: <https://man7.org/linux/man-pages/man2/clock_gettime.2.html>; kernel/sched/deadline.c, `start_dl_timer`
#[inline]
pub fn raw() -> MonotonicTime {
    MonotonicTime::from_nanos(read(libc::CLOCK_MONOTONIC_RAW))
}

/// `clock_gettime(CLOCK_THREAD_CPUTIME_ID)`: CPU time of the calling thread.
///
/// Source: <https://man7.org/linux/man-pages/man2/clock_gettime.2.html>
pub fn thread_cpu_time() -> Span {
    Span::from_nanos(read(libc::CLOCK_THREAD_CPUTIME_ID).unsigned_abs())
}

/// Nanoseconds on a clock, through libc: rustix does not find the vDSO in static programs, and a system call takes eight
/// times as long.
#[inline]
fn read(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is this function's own. It fails for clocks that do not exist, and these do.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec * NANOS_PER_SEC + time.tv_nsec
}

/// `CLOCK_AUX`, the first of the auxiliary clocks (`include/uapi/linux/time.h`, Linux 6.17).
const FIRST_AUXILIARY: libc::clockid_t = 16;

/// The clock id that system calls take.
///
/// Source: <https://man7.org/linux/man-pages/man2/clock_getres.2.html>
#[inline]
pub const fn id(clock: WaitClock) -> libc::clockid_t {
    match clock {
        WaitClock::Monotonic => libc::CLOCK_MONOTONIC,
        WaitClock::Realtime => libc::CLOCK_REALTIME,
        WaitClock::Tai => libc::CLOCK_TAI,
        WaitClock::Boottime => libc::CLOCK_BOOTTIME,
        WaitClock::Aux(number) => FIRST_AUXILIARY + number as libc::clockid_t,
    }
}

/// Whether the kernel has a clock, and it runs: an auxiliary one must be switched on.
///
/// Source: <https://man7.org/linux/man-pages/man2/clock_gettime.2.html>
pub fn exists(clock: WaitClock) -> bool {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is this function's own.
    unsafe { libc::clock_gettime(id(clock), &raw mut time) == 0 }
}

/// `clock_gettime` on a clock that [exists], in nanoseconds since its epoch.
///
/// Source: <https://man7.org/linux/man-pages/man2/clock_gettime.2.html>
#[inline]
pub fn now_on(clock: WaitClock) -> i64 {
    read(id(clock))
}

/// `clock_nanosleep(TIMER_ABSTIME)` until `nanos` of a clock that [exists].
///
/// # Errors
///
/// `Interrupted` when a signal handler ran; `Unsupported` where the clock has no timers.
///
/// Source: <https://man7.org/linux/man-pages/man2/clock_nanosleep.2.html>
#[inline]
pub fn sleep_until_on(clock: WaitClock, nanos: i64) -> io::Result<()> {
    let until = libc::timespec { tv_sec: nanos / NANOS_PER_SEC, tv_nsec: nanos % NANOS_PER_SEC };
    // SAFETY: `until` outlives the call, and nothing is written where the remaining time would go.
    let error = unsafe {
        libc::clock_nanosleep(id(clock), libc::TIMER_ABSTIME, &raw const until, std::ptr::null_mut())
    };
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

/// `clock` minus `CLOCK_MONOTONIC`, in nanoseconds.
///
/// The closest of a few pairs of readings counts, so that a preemption between two readings does not.
///
/// Source: <https://man7.org/linux/man-pages/man2/clock_gettime.2.html>
pub fn offset_from_monotonic(clock: WaitClock) -> i64 {
    let pair = || {
        let (before, reading, after) = (now(), now_on(clock), now());
        (after.since(before), reading - before.as_nanos())
    };
    (0..5).map(|_| pair()).min_by_key(|(apart, _)| *apart).map_or(0, |(_, offset)| offset)
}

/// The clock is not set by another one: `STA_UNSYNC` of `include/uapi/linux/timex.h`.
const UNSYNCHRONISED: i32 = 0x0040;

/// How well `CLOCK_REALTIME` is synchronised; `None` where `adjtimex(2)` fails.
///
/// Source: <https://man7.org/linux/man-pages/man2/adjtimex.2.html>
pub fn day_clock() -> Option<WallClockState> {
    // SAFETY: all fields are numbers. With `modes` 0, nothing is changed.
    let mut timex: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: `timex` is this function's own, and of the size that the call expects.
    let state = unsafe { libc::adjtimex(&raw mut timex) };
    let micros = u64::try_from(timex.maxerror).ok()?;
    let synchronised = timex.status & UNSYNCHRONISED == 0;
    (state >= 0).then_some(WallClockState { synchronised, max_error: Span::from_micros(micros) })
}

/// `clock_getres(CLOCK_MONOTONIC)`: 1 ns with high-resolution timers, one tick without.
///
/// Source: <https://man7.org/linux/man-pages/man2/clock_getres.2.html>
pub fn resolution() -> Span {
    from_timespec(clock_getres(ClockId::Monotonic))
}

#[inline]
pub fn timespec_at(time: MonotonicTime) -> Timespec {
    let nanos = time.as_nanos();
    Timespec { tv_sec: nanos / NANOS_PER_SEC, tv_nsec: nanos % NANOS_PER_SEC }
}

#[inline]
pub fn timespec_for(span: Span) -> Timespec {
    // Spans are read from text within i64; see `Span::from_str`.
    timespec_at(MonotonicTime::from_nanos(i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)))
}

fn from_timespec(time: Timespec) -> Span {
    let nanos = time.tv_sec * NANOS_PER_SEC + time.tv_nsec;
    Span::from_nanos(nanos.max(0).unsigned_abs())
}

/// Waits for `span`, or until a signal arrives. Measured waits use other functions.
///
/// # Errors
///
/// `Interrupted` when a signal handler ran.
///
/// Source: <https://man7.org/linux/man-pages/man2/clock_nanosleep.2.html>
pub fn sleep_for(span: Span) -> io::Result<()> {
    match clock_nanosleep_relative(SleepClock::Monotonic, &timespec_for(span)) {
        NanosleepRelativeResult::Ok => Ok(()),
        NanosleepRelativeResult::Interrupted(_) => Err(io::ErrorKind::Interrupted.into()),
        NanosleepRelativeResult::Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_never_goes_back() {
        for read in [now, raw] {
            let readings: Vec<_> = (0..10_000).map(|_| read()).collect();
            assert!(readings.is_sorted());
        }
        assert!(
            exists(WaitClock::Monotonic) && offset_from_monotonic(WaitClock::Monotonic).abs() < NANOS_PER_SEC
        );
        assert!(!resolution().is_zero());
    }

    #[test]
    fn the_kernel_reports_how_well_the_realtime_clock_is_synchronised() {
        let realtime = day_clock().unwrap();
        // NTP_PHASE_LIMIT of include/linux/timex.h: from there on it is unsynchronised, and counts no further.
        assert!(realtime.max_error <= Span::from_secs(16), "{realtime:?}");
        assert!(realtime.max_error < Span::from_secs(16) || !realtime.synchronised, "{realtime:?}");
    }

    #[test]
    fn times_are_split_into_seconds_and_nanoseconds() {
        let time = timespec_at(MonotonicTime::from_nanos(3_000_000_007));
        assert_eq!((time.tv_sec, time.tv_nsec), (3, 7));
    }
}
