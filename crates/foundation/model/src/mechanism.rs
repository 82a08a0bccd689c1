//! Mechanisms that wake a measured thread.

use std::fmt;

use crate::{Activation, ForeignTool, Notifier, Runtime, Sleeper, Wait};

/// How a measured thread is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mechanism {
    /// It waits for a time.
    Wait(Wait),
    /// A program sleeps.
    Runtime(Runtime),
    /// Another thread notifies it.
    Notifier(Notifier),
    /// The wake-ups of a watched program.
    Activation(Activation),
    /// Imported from another program.
    Foreign(ForeignTool),
}

impl Mechanism {
    /// The name used on the command line and in recordings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wait(wait) => wait.name(),
            Self::Runtime(runtime) => runtime.name(),
            Self::Notifier(notifier) => notifier.name(),
            Self::Activation(activation) => activation.name(),
            Self::Foreign(foreign) => foreign.name(),
        }
    }
}

impl From<Sleeper> for Mechanism {
    fn from(sleeper: Sleeper) -> Self {
        match sleeper {
            Sleeper::Wait(wait) => Self::Wait(wait),
            Sleeper::Runtime(runtime) => Self::Runtime(runtime),
        }
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
