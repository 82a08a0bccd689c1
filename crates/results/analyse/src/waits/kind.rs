//! Kinds of waiting, and what they mean for the waiting thread.

use std::fmt;
use std::str::FromStr;

use WaitKind::*;

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WaitKind {
    /// A CPU: the thread is ready to run, and the CPU is in use.
    Cpu,
    /// A disk, or a file system.
    Disk,
    /// A page of memory that has to be read or allocated.
    PageFault,
    /// Memory that must be freed first.
    Memory,
    /// A lock of the kernel.
    Lock,
    /// The kernel itself.
    Kernel,
    /// A pipe, or a message queue.
    Pipe,
    /// Data or space in a socket.
    Socket,
    /// A futex: a lock or a condition variable of the program, which the kernel cannot tell apart.
    Futex,
    /// The end of a child, `wait4(2)`.
    Child,
    /// Stopped, frozen, or held by a debugger.
    Stopped,
    /// A function that the table does not list.
    Other,
    /// No stack was recorded.
    NotSeen,
    /// A time that the thread asked for.
    Timer,
    /// The first of several events, or the next request.
    Event,
    /// A signal, `sigtimedwait(2)`, `pause(2)`.
    Signal,
    /// Input from a terminal.
    Terminal,
    /// Work: a thread of the kernel that has none.
    Idle,
}

/// What a wait means for the waiting thread, the most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WaitNature {
    /// It has work, and cannot go on.
    HeldUp,
    /// Another program or thread has to act first; whether that is late, only the program knows.
    ForOthers,
    /// It waits as it asked to, or has nothing to do.
    AsAsked,
}

impl WaitKind {
    /// All kinds, in the order of tables.
    pub const ALL: [Self; 18] = [
        Cpu, Disk, PageFault, Memory, Lock, Kernel, Pipe, Socket, Futex, Child, Stopped, Other, NotSeen,
        Timer, Event, Signal, Terminal, Idle,
    ];

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Cpu => "cpu",
            Disk => "disk",
            PageFault => "page_fault",
            Memory => "memory",
            Lock => "lock",
            Kernel => "kernel",
            Pipe => "pipe",
            Socket => "socket",
            Futex => "futex",
            Child => "child",
            Stopped => "stopped",
            Other => "other",
            NotSeen => "not_seen",
            Timer => "timer",
            Event => "event",
            Signal => "signal",
            Terminal => "terminal",
            Idle => "idle",
        }
    }

    pub const fn nature(self) -> WaitNature {
        match self {
            Cpu | Disk | PageFault | Memory | Lock | Kernel => WaitNature::HeldUp,
            Pipe | Socket | Futex | Child | Stopped | Other | NotSeen => WaitNature::ForOthers,
            Timer | Event | Signal | Terminal | Idle => WaitNature::AsAsked,
        }
    }
}

impl WaitNature {
    /// All natures, the most important first.
    pub const ALL: [Self; 3] = [Self::HeldUp, Self::ForOthers, Self::AsAsked];

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HeldUp => "held_up",
            Self::ForOthers => "for_others",
            Self::AsAsked => "as_asked",
        }
    }
}

impl fmt::Display for WaitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for WaitKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| {
            let all = Self::ALL.map(Self::name).join(", ");
            format!("`{text}` is no kind of waiting; choose from {all}")
        })
    }
}
