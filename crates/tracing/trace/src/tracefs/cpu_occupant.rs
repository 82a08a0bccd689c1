//! Who has, or had, a CPU. Pure.

use howlate_model::{CpuHolder, HolderKind};

use super::event::Comm;
use crate::irq_names::{Interrupts, TICK, softirq};

/// Who has, or had, a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Has {
    Thread {
        pid: u32,
        comm: Comm,
    },
    /// The same, of real-time priority.
    RealTime {
        pid: u32,
        comm: Comm,
    },
    /// The same, ahead of real-time threads that are ready.
    Server {
        pid: u32,
        comm: Comm,
    },
    Handler(u32),
    Softirq(u32),
    Tick,
    /// A switch was not seen.
    NotSeen,
}

impl Has {
    /// Whether both are one to whoever reads of them: threads are told apart by their names, where those are known.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Thread { pid, comm }, Self::Thread { pid: with, comm: other })
            | (Self::RealTime { pid, comm }, Self::RealTime { pid: with, comm: other })
            | (Self::Server { pid, comm }, Self::Server { pid: with, comm: other }) => {
                pid == with || (*pid != 0 && *with != 0 && comm == other && comm[0] != 0)
            }
            _ => self == other,
        }
    }

    /// Whether both are the same thread, or whatever else it is.
    pub(super) fn is_one_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Thread { pid, .. }, Self::Thread { pid: with, .. })
            | (Self::RealTime { pid, .. }, Self::RealTime { pid: with, .. })
            | (Self::Server { pid, .. }, Self::Server { pid: with, .. }) => pid == with,
            _ => self == other,
        }
    }

    /// Whether it is known what it is called.
    pub(super) const fn has_name(&self) -> bool {
        !matches!(self, Self::Thread { comm, .. } | Self::RealTime { comm, .. } | Self::Server { comm, .. } if comm[0] == 0)
    }

    /// The same to an ordinary thread: those that real-time ones are kept off by are like any other.
    pub(super) const fn to_ordinary(self) -> Self {
        match self {
            Self::Server { pid, comm } => Self::Thread { pid, comm },
            other => other,
        }
    }

    pub(super) fn named(&self, interrupts: &mut Interrupts) -> CpuHolder {
        let nameless = |holder| CpuHolder { holder, pid: None, name: String::new() };
        match *self {
            Self::Thread { pid: 0, .. } => nameless(HolderKind::Idle),
            // Neither its name nor the switch to it was seen.
            Self::Thread { comm, .. } if comm[0] == 0 => nameless(HolderKind::NotSeen),
            Self::Thread { pid, comm } => {
                let name = comm.split(|byte| *byte == 0).next().unwrap_or_default();
                let name = String::from_utf8_lossy(name).into_owned();
                CpuHolder { holder: HolderKind::Thread, pid: Some(pid), name }
            }
            Self::RealTime { pid, comm } => match (Self::Thread { pid, comm }).named(interrupts) {
                who if who.holder == HolderKind::Thread => {
                    CpuHolder { holder: HolderKind::RealTimeThread, ..who }
                }
                nobody => nobody,
            },
            Self::Server { .. } => match self.to_ordinary().named(interrupts) {
                who if who.holder == HolderKind::Thread => CpuHolder { holder: HolderKind::Server, ..who },
                nobody => nobody,
            },
            Self::Handler(number) => {
                CpuHolder { holder: HolderKind::Interrupt, pid: None, name: interrupts.name(number) }
            }
            Self::Softirq(vector) => {
                CpuHolder { holder: HolderKind::Softirq, pid: None, name: softirq(vector) }
            }
            Self::Tick => CpuHolder { holder: HolderKind::Interrupt, pid: None, name: TICK.to_owned() },
            Self::NotSeen => nameless(HolderKind::NotSeen),
        }
    }
}
