//! `epoll_wait(2)` in front of another mechanism, as event loops wait.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

use super::descriptor::{ReadEnd, WriteEnd};
use super::eventfd::EventfdEnd;
use super::{EventfdChannel, PipeChannel};
use crate::notify::channel::{Await, Channel, Endpoint, Endpoints};
use crate::notify::shared::Direction;

/// A receiving end, and the epoll set that reports when it is readable.
pub(crate) struct EpollReceiver<R> {
    set: OwnedFd,
    end: R,
}

impl<R: AsFd> EpollReceiver<R> {
    fn new(end: R) -> io::Result<Self> {
        let set = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&set, &end, EventData::new_u64(0), EventFlags::IN)?;
        Ok(Self { set, end })
    }
}

impl<R: Await> Await for EpollReceiver<R> {
    #[inline]
    fn wait(&mut self) -> io::Result<()> {
        let mut events = [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }];
        epoll::wait(&self.set, &mut events, None)?;
        self.end.wait()
    }

    #[inline]
    fn number(&self) -> u64 {
        self.end.number()
    }
}

impl AsFd for ReadEnd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl AsFd for EventfdEnd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// An `eventfd(2)` behind `epoll(7)`.
pub(crate) struct EpollEventfdChannel;

impl Channel for EpollEventfdChannel {
    type Sender = EventfdEnd;
    type Receiver = EpollReceiver<EventfdEnd>;

    fn make(direction: &Direction) -> io::Result<Endpoints> {
        EventfdChannel::make(direction)
    }

    fn receiver(endpoint: Endpoint) -> io::Result<Self::Receiver> {
        EpollReceiver::new(EventfdChannel::receiver(endpoint)?)
    }

    fn sender(endpoint: Endpoint) -> io::Result<Self::Sender> {
        EventfdChannel::sender(endpoint)
    }
}

/// A `pipe(2)` behind `epoll(7)`.
pub(crate) struct EpollPipeChannel;

impl Channel for EpollPipeChannel {
    type Sender = WriteEnd;
    type Receiver = EpollReceiver<ReadEnd>;

    fn make(direction: &Direction) -> io::Result<Endpoints> {
        PipeChannel::make(direction)
    }

    fn receiver(endpoint: Endpoint) -> io::Result<Self::Receiver> {
        EpollReceiver::new(PipeChannel::receiver(endpoint)?)
    }

    fn sender(endpoint: Endpoint) -> io::Result<Self::Sender> {
        PipeChannel::sender(endpoint)
    }
}
