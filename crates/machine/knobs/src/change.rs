//! What is changed to turn a knob.

use howlate_model::{Nice, Policy, Priority, Remedy, Span, Wait};

use crate::writes::Writes;

/// How a knob is turned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A thread asks for it, for itself.
    Thread(ThreadSetting),
    /// Files of the kernel are written; the value that they held is written back.
    Files(Writes),
    /// A file is held open with a number of microseconds in it; closing it is the undo.
    Held {
        /// The file that is held open.
        path: &'static str,
        /// What is written to it.
        micros: i32,
    },
    /// Words of the kernel's command line; a restart. What is to be typed for it here.
    Boot(Remedy),
}

/// What a thread asks for, for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThreadSetting {
    /// Nothing: what is found is chance.
    Nothing,
    /// A timer slack of this length.
    Slack(Span),
    /// A policy, with its parameters.
    Policy(Policy),
    /// The slice that the fair scheduler gives it.
    Slice(Span),
    /// To be bound to this CPU.
    Cpu(u32),
    /// Another way to wait for a time.
    Wait(Wait),
    /// What howlate's own threads have always.
    AlreadySo,
}

impl ThreadSetting {
    /// The highest nice value there is.
    pub(crate) fn nice() -> Self {
        Self::Policy(Policy::Other { nice: Nice::new(-20) })
    }

    /// The priority that most real-time programs use.
    pub(crate) const fn fifo() -> Self {
        Self::Policy(Policy::Fifo { priority: Priority::USUAL })
    }
}
