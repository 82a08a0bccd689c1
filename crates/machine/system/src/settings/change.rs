//! The change by which a setting takes effect.

use howlate_model::{Nice, Policy, Priority, Remedy, Span, Wait};

use crate::settings::writes::Writes;

/// How a setting is changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A system call of the thread itself.
    Thread(ThreadSetting),
    /// Kernel files are written, and their old values written back afterwards.
    Files(Writes),
    /// A file is held open with a number of microseconds written to it; closing it undoes the change.
    Held { path: &'static str, micros: i32 },
    /// Kernel command line parameters, which take a restart: the commands on this machine.
    Boot(Remedy),
}

/// A setting that a thread applies to itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThreadSetting {
    /// No change: any difference found is chance.
    Nothing,
    Slack(Span),
    Policy(Policy),
    /// Time slice of the fair scheduler.
    Slice(Span),
    /// Affinity to one CPU.
    Cpu(u32),
    /// Wait with this mechanism.
    Wait(Wait),
    /// Already applied to all of howlate's own threads.
    AlreadyInForce,
}

impl ThreadSetting {
    /// The highest priority of normal threads.
    pub(crate) fn nice() -> Self {
        Self::Policy(Policy::Other { nice: Nice::new(-20) })
    }

    /// `SCHED_FIFO` with the priority that most real-time programs use.
    pub(crate) const fn fifo() -> Self {
        Self::Policy(Policy::Fifo { priority: Priority::USUAL })
    }
}
