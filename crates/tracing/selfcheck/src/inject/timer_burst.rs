//! `other_timers`: hundreds of timers that expire just before the measured thread's, or just after, on the same CPU.

use std::io;
use std::os::fd::OwnedFd;

use howlate_linux::clock::{self, timespec_at, timespec_for};
use howlate_model::{InjectedCause, MonotonicInterval, MonotonicTime, Span};
use howlate_procfs::{Kernel, Root};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

use super::clock_reader::watch;
use super::task::{InjectorReport, PreparedTask, sleep_until, with_reason};

const TIMERS: usize = 600;
/// How much earlier or later than that of the measured thread they expire, alternating: the kernel serves timers in order of expiry. Later by less
/// than the latency of an interrupt, so that the same one serves all.
const APART: Span = Span::from_nanos(500);

pub(crate) fn prepare(mut cause: InjectedCause, period: Span) -> io::Result<PreparedTask> {
    if Kernel::is_realtime(&Root::live()) {
        return Err(io::Error::other(
            "on PREEMPT_RT a softirq serves the timers of files, and gives way to the thread that they would keep waiting",
        ));
    }
    let timers = (0..TIMERS).map(|_| timer()).collect::<io::Result<Vec<_>>>();
    let timers = timers.map_err(|error| with_reason(&format!("cannot have {TIMERS} timers"), &error))?;
    Ok(Box::new(move |window| {
        for (number, time) in window.grid(period, period).enumerate() {
            // Halfway between two wake-ups.
            sleep_until(time.minus(Span::from_nanos(period.as_nanos() / 2)));
            let due = if number.is_multiple_of(2) { time.minus(APART) } else { time.plus(APART) };
            timers.iter().try_for_each(|timer| arm(timer, due))?;
            cause.stamps.extend(gap_around(due));
        }
        Ok(InjectorReport { cause: Some(cause), ..InjectorReport::default() })
    }))
}

fn timer() -> io::Result<OwnedFd> {
    Ok(timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?)
}

fn arm(timer: &OwnedFd, due: MonotonicTime) -> io::Result<()> {
    let times = Itimerspec { it_interval: timespec_for(Span::ZERO), it_value: timespec_at(due) };
    timerfd_settime(timer, TimerfdTimerFlags::ABSTIME, &times)?;
    Ok(())
}

/// The gap around `due` in which the timers were served and then the measured thread ran. `None` if they were armed too late to be served
/// together.
fn gap_around(due: MonotonicTime) -> Option<MonotonicInterval> {
    let mut found = (clock::now() >= due).then_some(None);
    watch(due.plus(Span::from_micros(20)), |gap| {
        if gap.from < due && due <= gap.until {
            found.get_or_insert(Some(gap));
        }
    });
    found.flatten()
}
