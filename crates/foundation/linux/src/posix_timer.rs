//! A POSIX timer that signals the thread that armed it.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;

use howlate_model::{MonotonicTime, Span, WaitClock};

use crate::clock::{self, timespec_at, timespec_for};
use crate::signal_set::SignalSet;

/// A timer whose expiry is awaited with `sigtimedwait(2)`.
///
/// Belongs to the thread that created it: the signal goes there (`SIGEV_THREAD_ID`).
pub struct PosixTimer {
    timer: libc::timer_t,
    signals: SignalSet,
}

fn expiry_signal() -> i32 {
    libc::SIGRTMIN() + 8
}

impl PosixTimer {
    /// `timer_create(clock, SIGEV_THREAD_ID, …)` for the calling thread.
    ///
    /// # Errors
    ///
    /// `EAGAIN` when the limit of pending signals is reached, `EINVAL` where the clock has no timers.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/timer_create.2.html>
    pub fn new(clock: WaitClock) -> io::Result<Self> {
        let signals = SignalSet::only(expiry_signal());
        signals.block();
        // SAFETY: an all-zero sigevent is valid; the fields that matter are set below.
        let mut event: libc::sigevent = unsafe { MaybeUninit::zeroed().assume_init() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = expiry_signal();
        event.sigev_notify_thread_id = i32::try_from(crate::thread::id()).unwrap_or_default();
        let mut timer: libc::timer_t = ptr::null_mut();
        // SAFETY: both pointers are to live locals of the right type.
        let result = unsafe { libc::timer_create(clock::id(clock), &raw mut event, &raw mut timer) };
        if result == 0 { Ok(Self { timer, signals }) } else { Err(io::Error::last_os_error()) }
    }

    /// `timer_settime(TIMER_ABSTIME)`: expires once, at `time`.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/timer_settime.2.html>
    ///
    /// # Errors
    ///
    /// `EINVAL` for a time before the clock's start.
    #[inline]
    pub fn arm_at(&self, time: MonotonicTime) -> io::Result<()> {
        self.arm(libc::TIMER_ABSTIME, timespec_at(time))
    }

    /// `timer_settime(0)`: expires once, after `span`. A span of 0 expires at once.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/timer_settime.2.html>
    #[inline]
    pub fn arm_after(&self, span: Span) -> io::Result<()> {
        // An expiry of zero would disarm the timer.
        let shortest = Span::from_nanos(1);
        self.arm(0, timespec_for(span.max(shortest)))
    }

    #[inline]
    fn arm(&self, flags: i32, at: rustix::time::Timespec) -> io::Result<()> {
        let never = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let at = libc::timespec { tv_sec: at.tv_sec, tv_nsec: at.tv_nsec };
        let setting = libc::itimerspec { it_interval: never, it_value: at };
        // SAFETY: the timer exists until drop; `setting` outlives the call.
        let result = unsafe { libc::timer_settime(self.timer, flags, &raw const setting, ptr::null_mut()) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// `sigwaitinfo(2)`: waits for the expiry.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/sigwaitinfo.2.html>
    ///
    /// # Errors
    ///
    /// `Interrupted` when a handler of another signal ran.
    #[inline]
    pub fn wait(&self) -> io::Result<()> {
        self.signals.wait(None)
    }
}

impl Drop for PosixTimer {
    fn drop(&mut self) {
        // SAFETY: the timer exists and is deleted once.
        unsafe { libc::timer_delete(self.timer) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::now;

    #[test]
    fn a_timer_does_not_expire_early() {
        let timer = PosixTimer::new(WaitClock::Monotonic).unwrap();
        let until = now().plus(Span::from_millis(2));
        timer.arm_at(until).unwrap();
        timer.wait().unwrap();
        assert!(now() >= until);
        timer.arm_after(Span::ZERO).unwrap();
        timer.wait().unwrap();
    }
}
