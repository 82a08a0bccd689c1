//! The notification mechanisms, and their compiled loops by name.

mod condvar;
mod descriptor;
mod epoll;
mod eventfd;
mod futex;
mod io_uring;
mod pipe;
mod polling;
mod posix_mq;
mod semaphore;
mod signal;
mod sockets;
mod sysv_mq;
mod sysv_sem;

pub(crate) use condvar::CondvarChannel;
pub(crate) use epoll::{EpollEventfdChannel, EpollPipeChannel};
pub(crate) use eventfd::EventfdChannel;
pub(crate) use futex::FutexChannel;
pub(crate) use io_uring::IoUringChannel;
pub(crate) use pipe::{FifoChannel, PipeChannel};
pub(crate) use polling::{BusyWaitChannel, BusyWaitNoPauseChannel, SchedYieldChannel};
pub(crate) use posix_mq::PosixMqChannel;
pub(crate) use semaphore::SemaphoreChannel;
pub(crate) use signal::{SignalChannel, SignalfdChannel};
pub(crate) use sockets::{
    SocketpairDgramChannel, SocketpairSeqpacketChannel, SocketpairStreamChannel, TcpChannel, UdpChannel,
    UnixStreamChannel,
};
pub(crate) use sysv_mq::SysvMqChannel;
pub(crate) use sysv_sem::SysvSemChannel;

use howlate_model::Notifier;

use super::channel::Channel;

/// Work that is compiled once for each mechanism.
pub(crate) trait WithChannel {
    type Output;

    fn with<C: Channel>(self) -> Self::Output;
}

/// Runs `work` with the channel of `notifier`.
pub(crate) fn with_channel<W: WithChannel>(notifier: Notifier, work: W) -> W::Output {
    match notifier {
        Notifier::Futex => work.with::<FutexChannel>(),
        Notifier::Semaphore => work.with::<SemaphoreChannel>(),
        Notifier::Condvar => work.with::<CondvarChannel>(),
        Notifier::Signal => work.with::<SignalChannel>(),
        Notifier::Signalfd => work.with::<SignalfdChannel>(),
        Notifier::Eventfd => work.with::<EventfdChannel>(),
        Notifier::Pipe => work.with::<PipeChannel>(),
        Notifier::Fifo => work.with::<FifoChannel>(),
        Notifier::Socketpair => work.with::<SocketpairStreamChannel>(),
        Notifier::SocketpairDgram => work.with::<SocketpairDgramChannel>(),
        Notifier::SocketpairSeqpacket => work.with::<SocketpairSeqpacketChannel>(),
        Notifier::UnixStream => work.with::<UnixStreamChannel>(),
        Notifier::Tcp => work.with::<TcpChannel>(),
        Notifier::Udp => work.with::<UdpChannel>(),
        Notifier::PosixMq => work.with::<PosixMqChannel>(),
        Notifier::SysvSem => work.with::<SysvSemChannel>(),
        Notifier::SysvMq => work.with::<SysvMqChannel>(),
        Notifier::IoUring => work.with::<IoUringChannel>(),
        Notifier::EpollEventfd => work.with::<EpollEventfdChannel>(),
        Notifier::EpollPipe => work.with::<EpollPipeChannel>(),
        Notifier::BusyWait => work.with::<BusyWaitChannel>(),
        Notifier::BusyWaitNoPause => work.with::<BusyWaitNoPauseChannel>(),
        Notifier::SchedYield => work.with::<SchedYieldChannel>(),
    }
}
