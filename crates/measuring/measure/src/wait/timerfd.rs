//! `timerfd_settime(2)` and a blocking `read(2)`. Not subject to timer slack.

use std::io;
use std::os::fd::OwnedFd;

use howlate_linux::clock::{timespec_at, timespec_for};
use howlate_model::{MonotonicTime, Span, WaitClock};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use super::Waiter;
use crate::wait_clock::ClockReading;

/// A timer descriptor, armed anew for every wait.
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

/// The same on another clock.
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
        self.timer.wait_until(MonotonicTime::from_nanos(self.clock.shows(time)))
    }

    #[inline]
    fn wait_for(&mut self, span: Span) -> io::Result<()> {
        self.timer.wait_for(span)
    }
}
