//! The tracers that there are.

use std::fmt;

/// A tracer that there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Programs in the kernel: all parts, all names, the least cost.
    Bpf,
    /// Static trace events of the kernel: nearly all parts, all names, at a higher cost.
    Tracefs,
    /// The kernel's records of switches: four parts and no names, for everybody.
    Switches,
}

impl Tier {
    /// All, the best first.
    pub const ALL: [Self; 3] = [Self::Bpf, Self::Tracefs, Self::Switches];

    /// As recordings name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bpf => "bpf",
            Self::Tracefs => "tracefs",
            Self::Switches => "switches",
        }
    }

    /// Whether it sees what wakes threads. Records of switches alone say neither when a thread was to run nor who woke it.
    pub const fn sees_wakers(self) -> bool {
        match self {
            Self::Bpf | Self::Tracefs => true,
            Self::Switches => false,
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
