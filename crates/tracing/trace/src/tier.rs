//! The kinds of tracers.

use std::fmt;

/// The tracers, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// BPF programs: all parts and names, at the lowest overhead.
    Bpf,
    /// Static trace events: nearly all parts, all names, at a higher overhead.
    Tracefs,
    /// `perf_event_open(2)` records of context switches: four parts and no names, without privilege.
    Switches,
}

impl Tier {
    /// The best first.
    pub const ALL: [Self; 3] = [Self::Bpf, Self::Tracefs, Self::Switches];

    /// As in recordings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bpf => "bpf",
            Self::Tracefs => "tracefs",
            Self::Switches => "switches",
        }
    }

    /// Whether it sees what wakes threads: context switches show neither when a thread should have run nor who woke it.
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
