//! Timeouts of `ppoll(2)`, `epoll_pwait2(2)` and `futex(2)`.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicU32;

use howlate_linux::clock::{timespec_at, timespec_for};
use howlate_model::{MonotonicTime, Span};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::poll;
use rustix::thread::futex::{self, Flags};

use super::{Waiter, remaining_until, timed_out};

/// `ppoll(2)` on no descriptor; it only takes a relative timeout.
pub(crate) struct Ppoll;

impl Waiter for Ppoll {
    #[inline]
    fn wait_until(&mut self, time: MonotonicTime) -> io::Result<()> {
        remaining_until(time).map_or(Ok(()), |remaining| self.wait_for(remaining))
    }

    #[inline]
    fn wait_for(&mut self, span: Span) -> io::Result<()> {
        poll(&mut [], Some(&timespec_for(span)))?;
        Ok(())
    }
}

/// `epoll_pwait2(2)` (Linux 5.11) on an empty set; it only takes a relative timeout.
pub(crate) struct EpollPwait2 {
    set: OwnedFd,
}

impl EpollPwait2 {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { set: epoll::create(CreateFlags::CLOEXEC)? })
    }
}

impl Waiter for EpollPwait2 {
    #[inline]
    fn wait_until(&mut self, time: MonotonicTime) -> io::Result<()> {
        remaining_until(time).map_or(Ok(()), |remaining| self.wait_for(remaining))
    }

    #[inline]
    fn wait_for(&mut self, span: Span) -> io::Result<()> {
        let mut events = [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }];
        epoll::wait(&self.set, &mut events, Some(&timespec_for(span)))?;
        Ok(())
    }
}

/// Waits on a word that never changes: `FUTEX_WAIT_BITSET` until a time, `FUTEX_WAIT` for a duration.
#[derive(Default)]
pub(crate) struct FutexWait {
    word: AtomicU32,
}

impl Waiter for FutexWait {
    #[inline]
    fn wait_until(&mut self, time: MonotonicTime) -> io::Result<()> {
        let any = std::num::NonZeroU32::MAX;
        timed_out(futex::wait_bitset(&self.word, Flags::PRIVATE, 0, Some(&timespec_at(time)), any))
    }

    #[inline]
    fn wait_for(&mut self, span: Span) -> io::Result<()> {
        timed_out(futex::wait(&self.word, Flags::PRIVATE, 0, Some(&timespec_for(span))))
    }
}
