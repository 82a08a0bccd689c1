//! `timers`: on each CPU, a process with 64 timers, each of which expires every millisecond, at evenly spread phases.

use std::io;
use std::os::fd::OwnedFd;

use howlate_linux::clock::timespec_for;
use howlate_model::Span;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

use crate::workers::{Worker, Workers};

/// Timers of each process.
const TIMERS: u64 = 64;
/// Time from one expiry of a timer to its next.
const PERIOD: Span = Span::from_millis(1);

pub(crate) fn start(workers: &mut Workers<'_>, count: usize) -> io::Result<()> {
    for number in 0..count {
        let cpu = workers.cpu(number);
        workers.add(number, cpu, expire)?;
    }
    Ok(())
}

fn expire(mut worker: Worker<'_>) -> io::Result<()> {
    loop {
        let timers = (0..TIMERS).map(spread).collect::<io::Result<Vec<_>>>()?;
        // At rest the timers are closed, so that none expires.
        while !worker.duty_cycle.is_over() {
            let mut polled: Vec<PollFd<'_>> =
                timers.iter().map(|timer| PollFd::new(timer, PollFlags::IN)).collect();
            poll(&mut polled, None)?;
            let due =
                timers.iter().zip(&polled).filter(|(_, polled)| polled.revents().contains(PollFlags::IN));
            due.map(|(timer, _)| expiries(timer)).try_for_each(|count| {
                worker.counter.add(count?);
                Ok::<(), io::Error>(())
            })?;
        }
        drop(timers);
        worker.duty_cycle.throttle()?;
    }
}

/// Timer `number`, at a phase of its own.
fn spread(number: u64) -> io::Result<OwnedFd> {
    let phase = Span::from_nanos(PERIOD.as_nanos() * number / TIMERS);
    periodic(PERIOD, phase, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)
}

/// A timer that expires every `period`, first after `phase` and a period.
pub(crate) fn periodic(period: Span, phase: Span, flags: TimerfdFlags) -> io::Result<OwnedFd> {
    let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
    let times = Itimerspec { it_interval: timespec_for(period), it_value: timespec_for(period.plus(phase)) };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &times)?;
    Ok(timer)
}

/// Expiries of a timer since the last call; waits for the first unless the timer is non-blocking.
pub(crate) fn expiries(timer: &OwnedFd) -> io::Result<u64> {
    let mut count = [0_u8; 8];
    match rustix::io::read(timer, &mut count) {
        Ok(_) => Ok(u64::from_ne_bytes(count)),
        Err(rustix::io::Errno::AGAIN) => Ok(0),
        Err(error) => Err(error.into()),
    }
}
