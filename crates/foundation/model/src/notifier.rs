//! Mechanisms by which one process or thread wakes another.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A way for one process or thread to notify another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Notifier {
    /// `futex(2)`: `FUTEX_WAIT` and `FUTEX_WAKE`.
    Futex,
    /// A POSIX semaphore: `sem_wait(3)` and `sem_post(3)`.
    Semaphore,
    /// `pthread_cond_wait(3)` and `pthread_cond_signal(3)` with their mutex.
    Condvar,
    /// A queued real-time signal and `sigwaitinfo(2)`.
    Signal,
    /// A queued real-time signal and `signalfd(2)`.
    Signalfd,
    /// `eventfd(2)`.
    Eventfd,
    /// `pipe(2)`.
    Pipe,
    /// A named pipe, `fifo(7)`.
    Fifo,
    /// `socketpair(2)`, stream.
    Socketpair,
    /// `socketpair(2)`, datagram.
    SocketpairDgram,
    /// `socketpair(2)`, sequenced packets.
    SocketpairSeqpacket,
    /// A Unix stream socket that was listened on and connected to, `unix(7)`.
    UnixStream,
    /// `tcp(7)` over the loopback interface.
    Tcp,
    /// `udp(7)` over the loopback interface.
    Udp,
    /// A POSIX message queue, `mq_overview(7)`.
    PosixMq,
    /// A System V semaphore, `semop(2)`.
    SysvSem,
    /// A System V message queue, `msgsnd(2)`.
    SysvMq,
    /// `io_uring(7)`: `IORING_OP_FUTEX_WAIT` and `IORING_OP_FUTEX_WAKE`.
    IoUring,
    /// `epoll(7)` in front of an `eventfd(2)`.
    EpollEventfd,
    /// `epoll(7)` in front of a `pipe(2)`.
    EpollPipe,
    /// Reading shared memory again and again, with the processor's `pause`.
    BusyWait,
    /// Reading shared memory again and again, without `pause`.
    BusyWaitNoPause,
    /// Reading shared memory, and `sched_yield(2)` in between.
    SchedYield,
}

impl Notifier {
    /// Every mechanism, in the order in which they are listed.
    pub const ALL: [Self; 23] = [
        Self::Futex,
        Self::Semaphore,
        Self::Condvar,
        Self::Signal,
        Self::Signalfd,
        Self::Eventfd,
        Self::Pipe,
        Self::Fifo,
        Self::Socketpair,
        Self::SocketpairDgram,
        Self::SocketpairSeqpacket,
        Self::UnixStream,
        Self::Tcp,
        Self::Udp,
        Self::PosixMq,
        Self::SysvSem,
        Self::SysvMq,
        Self::IoUring,
        Self::EpollEventfd,
        Self::EpollPipe,
        Self::BusyWait,
        Self::BusyWaitNoPause,
        Self::SchedYield,
    ];

    /// The name used on the command line and in recordings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Futex => "futex",
            Self::Semaphore => "semaphore",
            Self::Condvar => "condvar",
            Self::Signal => "signal",
            Self::Signalfd => "signalfd",
            Self::Eventfd => "eventfd",
            Self::Pipe => "pipe",
            Self::Fifo => "fifo",
            Self::Socketpair => "socketpair",
            Self::SocketpairDgram => "socketpair_dgram",
            Self::SocketpairSeqpacket => "socketpair_seqpacket",
            Self::UnixStream => "unix_stream",
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::PosixMq => "posix_mq",
            Self::SysvSem => "sysv_sem",
            Self::SysvMq => "sysv_mq",
            Self::IoUring => "io_uring",
            Self::EpollEventfd => "epoll_eventfd",
            Self::EpollPipe => "epoll_pipe",
            Self::BusyWait => "busy_wait",
            Self::BusyWaitNoPause => "busy_wait_no_pause",
            Self::SchedYield => "sched_yield",
        }
    }

    /// Whether the receiver keeps its CPU busy while it waits.
    pub const fn burns_cpu(self) -> bool {
        self.spins() || matches!(self, Self::SchedYield)
    }

    /// Whether the receiver never yields its CPU.
    pub const fn spins(self) -> bool {
        matches!(self, Self::BusyWait | Self::BusyWaitNoPause)
    }
}

impl fmt::Display for Notifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Not the name of a notifier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not a way to notify; choose from all, {}", Notifier::ALL.map(Notifier::name).join(", "))]
pub struct UnknownNotifier {
    /// What was typed.
    pub found: String,
}

impl FromStr for Notifier {
    type Err = UnknownNotifier;

    fn from_str(text: &str) -> Result<Self, UnknownNotifier> {
        Self::ALL
            .into_iter()
            .find(|notifier| notifier.name() == text.trim())
            .ok_or_else(|| UnknownNotifier { found: text.trim().to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_agree_in_text_and_json() {
        for notifier in Notifier::ALL {
            assert_eq!(notifier.name().parse(), Ok(notifier));
            assert_eq!(serde_json::to_string(&notifier).unwrap(), format!("\"{notifier}\""));
        }
        assert!("carrier_pigeon".parse::<Notifier>().is_err());
    }
}
