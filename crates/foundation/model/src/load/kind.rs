//! The kinds of load.

use std::fmt;

use super::quote::{always_quoted, quoted};

/// Kind of a load part. `docs/loads.md` describes how each works.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LoadKind {
    /// Threads that never sleep.
    Cpu,
    /// Pairs of processes that wake each other through pipes: a storm of context switches.
    Pipe,
    /// Timers that expire and processors that interrupt each other.
    Interrupt,
    /// Groups of senders and receivers over sockets, as rt-tests' hackbench has them.
    Hackbench(Hackbench),
    /// Memory bandwidth, page faults, and mappings that come and go.
    Memory,
    /// Large sequential writes with `fsync(2)`.
    Disk {
        /// Where; `None`: in the folder for temporary files.
        folder: Option<String>,
    },
    /// Walks a tree of folders as `du` does.
    Files {
        /// Its root; `None`: `/`.
        folder: Option<String>,
    },
    /// Packets through the loopback device.
    Network,
    /// Processes that begin and end.
    Fork,
    /// Many timers that expire often.
    Timers,
    /// Processes that keep each CPU from idling, and give way to every other.
    Awake,
    /// A stressor of stress-ng, or all of a class.
    StressNg {
        /// The stressor or class.
        name: String,
    },
    /// rt-tests' own hackbench, again and again.
    HackbenchProgram {
        /// Its options, as typed.
        options: String,
    },
    /// Any command, run by `sh -c`.
    Command {
        /// The command, as typed.
        command: String,
    },
}

/// The size of the built-in `hackbench`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hackbench {
    /// Groups of 20 senders and 20 receivers.
    pub groups: u32,
    /// Messages from each sender to each receiver, after which it is done; `None`: it never is.
    pub loops: Option<u64>,
}

impl Default for Hackbench {
    fn default() -> Self {
        Self { groups: 10, loops: None }
    }
}

/// Names of loads that run other programs.
pub(super) const FROM_OUTSIDE: [&str; 3] = ["stress-ng", "hackbench-program", "cmd"];

impl LoadKind {
    /// Names of loads that need no other program.
    pub const BUILT_IN: [&'static str; 11] = [
        "cpu",
        "pipe",
        "interrupt",
        "hackbench",
        "memory",
        "disk",
        "files",
        "network",
        "fork",
        "timers",
        "awake",
    ];

    /// The name used on the command line and in recordings.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Pipe => "pipe",
            Self::Interrupt => "interrupt",
            Self::Hackbench(_) => "hackbench",
            Self::Memory => "memory",
            Self::Disk { .. } => "disk",
            Self::Files { .. } => "files",
            Self::Network => "network",
            Self::Fork => "fork",
            Self::Timers => "timers",
            Self::Awake => "awake",
            Self::StressNg { .. } => "stress-ng",
            Self::HackbenchProgram { .. } => "hackbench-program",
            Self::Command { .. } => "cmd",
        }
    }

    /// Unit of its operations, in the plural; `None` if howlate cannot count them.
    pub const fn operation(&self) -> Option<&'static str> {
        Some(match self {
            Self::Cpu | Self::Awake => "rounds",
            Self::Pipe => "wake-ups",
            Self::Interrupt => "interrupt requests",
            Self::Hackbench(_) => "messages",
            Self::Memory => "pages",
            Self::Disk { .. } => "bytes",
            Self::Files { .. } => "files",
            Self::Network => "packets",
            Self::Fork => "forks",
            Self::Timers => "expiries",
            Self::StressNg { .. } | Self::HackbenchProgram { .. } | Self::Command { .. } => return None,
        })
    }

    /// Whether it is another program.
    pub const fn is_from_outside(&self) -> bool {
        self.operation().is_none()
    }
}

impl fmt::Display for LoadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Hackbench(Hackbench { groups, loops }) => {
                if *groups != Hackbench::default().groups {
                    write!(f, ":groups={groups}")?;
                }
                loops.map_or(Ok(()), |loops| write!(f, ":loops={loops}"))
            }
            Self::Disk { folder: Some(folder) } | Self::Files { folder: Some(folder) } => {
                write!(f, ":{}", quoted(folder))
            }
            Self::StressNg { name } => write!(f, ":{}", quoted(name)),
            Self::HackbenchProgram { options: text } | Self::Command { command: text } => {
                write!(f, ":{}", always_quoted(text))
            }
            _ => Ok(()),
        }
    }
}
