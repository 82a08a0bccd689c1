//! `epoll_wait(2)` in front of another mechanism, as event loops wait.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

use super::descriptor::{Reading, Writing};
use super::{Eventfd, Pipe, eventfd};
use crate::notify::channel::{Await, Channel, Endpoint, Endpoints};
use crate::notify::shared::Direction;

/// A receiving end, and the set that says when it can be read.
pub(crate) struct Behind<R> {
    set: OwnedFd,
    end: R,
}

impl<R: AsFd> Behind<R> {
    fn new(end: R) -> io::Result<Self> {
        let set = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&set, &end, EventData::new_u64(0), EventFlags::IN)?;
        Ok(Self { set, end })
    }
}

impl<R: Await> Await for Behind<R> {
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

impl AsFd for Reading {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl AsFd for eventfd::End {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// An `eventfd(2)` behind `epoll(7)`.
pub(crate) struct EpollEventfd;

impl Channel for EpollEventfd {
    type Sender = eventfd::End;
    type Receiver = Behind<eventfd::End>;

    fn make(direction: &Direction) -> io::Result<Endpoints> {
        Eventfd::make(direction)
    }

    fn receiver(endpoint: Endpoint) -> io::Result<Self::Receiver> {
        Behind::new(Eventfd::receiver(endpoint)?)
    }

    fn sender(endpoint: Endpoint) -> io::Result<Self::Sender> {
        Eventfd::sender(endpoint)
    }
}

/// A `pipe(2)` behind `epoll(7)`.
pub(crate) struct EpollPipe;

impl Channel for EpollPipe {
    type Sender = Writing;
    type Receiver = Behind<Reading>;

    fn make(direction: &Direction) -> io::Result<Endpoints> {
        Pipe::make(direction)
    }

    fn receiver(endpoint: Endpoint) -> io::Result<Self::Receiver> {
        Behind::new(Pipe::receiver(endpoint)?)
    }

    fn sender(endpoint: Endpoint) -> io::Result<Self::Sender> {
        Pipe::sender(endpoint)
    }
}
