//! Timers: `timerfd_create(2)` with a blocking `read(2)`, and `timer_create(2)` with `sigwaitinfo(2)`.

use std::io;
use std::os::fd::OwnedFd;

use howlate_linux::clock::{timespec_at, timespec_for};
use howlate_linux::posix_timer::PosixTimer;
use howlate_model::{MonotonicTime, Span, WaitClock};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use super::Waiter;
use crate::wait_clock::ClockReading;

/// A POSIX timer that signals the measuring thread, armed anew for every wait.
pub(crate) struct PosixTimerWait(PosixTimer);

impl PosixTimerWait {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(PosixTimer::new(WaitClock::Monotonic)?))
    }
}

impl Waiter for PosixTimerWait {
    #[inline]
    fn wait_until(&mut self, time: MonotonicTime) -> io::Result<()> {
        self.0.arm_at(time)?;
        self.0.wait()
    }

    #[inline]
    fn wait_for(&mut self, span: Span) -> io::Result<()> {
        self.0.arm_after(span)?;
        self.0.wait()
    }
}

/// A timer descriptor, armed anew for every wait. Not subject to timer slack.
pub(crate) struct Timerfd {
    fd: OwnedFd,
}

impl Timerfd {
    pub(crate) fn new() -> io::Result<Self> {
        Self::on(TimerfdClockId::Monotonic)
    }

    fn on(clock: TimerfdClockId) -> io::Result<Self> {
        Ok(Self { fd: timerfd_create(clock, TimerfdFlags::CLOEXEC)? })
    }

    #[inline]
    fn wait(&self, flags: TimerfdTimerFlags, it_value: Timespec) -> io::Result<()> {
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        timerfd_settime(&self.fd, flags, &Itimerspec { it_interval, it_value })?;
        rustix::io::read(&self.fd, &mut [0_u8; 8])?;
        Ok(())
    }
}

impl Waiter for Timerfd {
    #[inline]
    fn wait_until(&mut self, time: MonotonicTime) -> io::Result<()> {
        self.wait(TimerfdTimerFlags::ABSTIME, timespec_at(time))
    }

    #[inline]
    fn wait_for(&mut self, span: Span) -> io::Result<()> {
        // An expiry of zero would disarm the timer.
        self.wait(TimerfdTimerFlags::empty(), timespec_for(span.max(Span::from_nanos(1))))
    }
}

/// A timer descriptor on another clock.
pub(crate) struct TimerfdOnClock {
    timer: Timerfd,
    clock: ClockReading,
}

impl TimerfdOnClock {
    pub(crate) fn new(clock: ClockReading) -> io::Result<Self> {
        let id = match clock.clock {
            WaitClock::Realtime => TimerfdClockId::Realtime,
            WaitClock::Boottime => TimerfdClockId::Boottime,
            _ => return Err(io::ErrorKind::Unsupported.into()),
        };
        Ok(Self { timer: Timerfd::on(id)?, clock })
    }
}

impl Waiter for TimerfdOnClock {
    #[inline]
    fn now(&self) -> MonotonicTime {
        self.clock.now()
    }

    #[inline]
    fn wait_until(&mut self, time: MonotonicTime) -> io::Result<()> {
        self.timer.wait_until(MonotonicTime::from_nanos(self.clock.reading_at(time)))
    }

    #[inline]
    fn wait_for(&mut self, span: Span) -> io::Result<()> {
        self.timer.wait_for(span)
    }
}
