//! Kinds of waiting, and what they mean to whoever waits.

use std::fmt;
use std::str::FromStr;

use WaitKind::*;

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WaitKind {
    /// A CPU: ready to run, and another has it.
    Cpu,
    /// A disk, or a file system.
    Disk,
    /// A page of memory that is not there.
    PageFault,
    /// Memory that must be freed first.
    Memory,
    /// A lock that another holds.
    Lock,
    /// The kernel itself.
    Kernel,
    /// A pipe, or a message queue.
    Pipe,
    /// Data or space in a socket.
    Socket,
    /// A futex: a lock or a condition of the program's own, the kernel does not know which.
    Futex,
    /// A child's end, `wait4(2)`.
    Child,
    /// Stopped, frozen, or held by a debugger.
    Stopped,
    /// What the table does not know.
    Other,
    /// What nobody looked at.
    NotSeen,
    /// A time that it asked for.
    Timer,
    /// Whatever comes first of several things, or the next request.
    Event,
    /// A signal, `sigtimedwait(2)`, `pause(2)`.
    Signal,
    /// A person at a terminal.
    Terminal,
    /// Work: a thread of the kernel that has none.
    Idle,
}

/// What a wait means to whoever waits: what a person wants to see first comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Nature {
    /// It has work, and cannot go on.
    HeldUp,
    /// Another program or thread is to do something first; whether that is late, only the program knows.
    ForOthers,
    /// It waits as it asked to, or has nothing to do.
    AsAsked,
}

impl WaitKind {
    /// Each kind once, in the order in which tables list them.
    pub const ALL: [Self; 18] = [
        Cpu, Disk, PageFault, Memory, Lock, Kernel, Pipe, Socket, Futex, Child, Stopped, Other, NotSeen,
        Timer, Event, Signal, Terminal, Idle,
    ];

    /// As results name it.
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

    /// What it means.
    pub const fn nature(self) -> Nature {
        match self {
            Cpu | Disk | PageFault | Memory | Lock | Kernel => Nature::HeldUp,
            Pipe | Socket | Futex | Child | Stopped | Other | NotSeen => Nature::ForOthers,
            Timer | Event | Signal | Terminal | Idle => Nature::AsAsked,
        }
    }
}

impl Nature {
    /// All, what a person wants to see first coming first.
    pub const ALL: [Self; 3] = [Self::HeldUp, Self::ForOthers, Self::AsAsked];

    /// As results name it.
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
