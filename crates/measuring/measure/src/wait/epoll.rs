//! The timeout of `epoll_pwait2(2)` (Linux 5.11), which takes a length only.

use std::io;
use std::os::fd::OwnedFd;

use howlate_linux::clock::timespec_for;
use howlate_model::{MonotonicTime, Span};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

use super::{Waiter, left_until};

/// `epoll_pwait2(2)` on an empty set.
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
        left_until(time).map_or(Ok(()), |left| self.wait_for(left))
    }

    #[inline]
    fn wait_for(&mut self, span: Span) -> io::Result<()> {
        let mut events = [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }];
        epoll::wait(&self.set, &mut events, Some(&timespec_for(span)))?;
        Ok(())
    }
}
