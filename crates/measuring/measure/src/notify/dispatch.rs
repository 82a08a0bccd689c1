//! From a mechanism's name to its own compiled loops.

use howlate_model::Notifier;

use super::channel::Channel;
use super::channels as all;

/// Something to do with a mechanism that is known by name only.
pub(crate) trait With {
    type Output;

    fn with<C: Channel>(self) -> Self::Output;
}

/// Does `work` with the notifier's own channel: compiled once for each.
pub(crate) fn with<W: With>(notifier: Notifier, work: W) -> W::Output {
    match notifier {
        Notifier::Futex => work.with::<all::Futex>(),
        Notifier::Semaphore => work.with::<all::Semaphore>(),
        Notifier::Condvar => work.with::<all::Condvar>(),
        Notifier::Signal => work.with::<all::Signal>(),
        Notifier::Signalfd => work.with::<all::Signalfd>(),
        Notifier::Eventfd => work.with::<all::Eventfd>(),
        Notifier::Pipe => work.with::<all::Pipe>(),
        Notifier::Fifo => work.with::<all::Fifo>(),
        Notifier::Socketpair => work.with::<all::SocketpairStream>(),
        Notifier::SocketpairDgram => work.with::<all::SocketpairDgram>(),
        Notifier::SocketpairSeqpacket => work.with::<all::SocketpairSeqpacket>(),
        Notifier::UnixStream => work.with::<all::UnixStream>(),
        Notifier::Tcp => work.with::<all::Tcp>(),
        Notifier::Udp => work.with::<all::Udp>(),
        Notifier::PosixMq => work.with::<all::PosixMq>(),
        Notifier::SysvSem => work.with::<all::SysvSem>(),
        Notifier::SysvMq => work.with::<all::SysvMq>(),
        Notifier::IoUring => work.with::<all::IoUring>(),
        Notifier::EpollEventfd => work.with::<all::EpollEventfd>(),
        Notifier::EpollPipe => work.with::<all::EpollPipe>(),
        Notifier::BusyWait => work.with::<all::BusyWait>(),
        Notifier::BusyWaitNoPause => work.with::<all::BusyWaitNoPause>(),
        Notifier::SchedYield => work.with::<all::SchedYield>(),
    }
}
