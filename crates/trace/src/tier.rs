//! The tracers that there are.

use std::fmt;

/// A tracer that there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Programs in the kernel: all parts, all names, the least cost.
    Bpf,
}

impl Tier {
    /// As recordings name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bpf => "bpf",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
