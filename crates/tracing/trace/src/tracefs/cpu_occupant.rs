//! The holder of a CPU: a thread, an interrupt or a softirq. Pure.

use howlate_model::{CpuHolder, HolderKind};

use super::event::ThreadName;
use crate::irq_names::{InterruptNames, TICK, softirq_name};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CpuOccupant {
    Thread {
        pid: u32,
        comm: ThreadName,
    },
    /// A thread of real-time priority.
    RealTime {
        pid: u32,
        comm: ThreadName,
    },
    /// A normal thread that runs ahead of runnable real-time threads.
    Server {
        pid: u32,
        comm: ThreadName,
    },
    Handler(u32),
    Softirq(u32),
    Tick,
    /// A switch was not seen.
    NotSeen,
}

impl CpuOccupant {
    /// Whether both look the same in a report: threads are distinguished by name, where it is known.
    pub(super) fn has_same_name(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Thread { pid, comm }, Self::Thread { pid: other_pid, comm: other_comm })
            | (Self::RealTime { pid, comm }, Self::RealTime { pid: other_pid, comm: other_comm })
            | (Self::Server { pid, comm }, Self::Server { pid: other_pid, comm: other_comm }) => {
                pid == other_pid || (*pid != 0 && *other_pid != 0 && comm == other_comm && comm[0] != 0)
            }
            _ => self == other,
        }
    }

    /// Whether both are the same thread, interrupt or softirq.
    pub(super) fn is_identical(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Thread { pid, .. }, Self::Thread { pid: other_pid, .. })
            | (Self::RealTime { pid, .. }, Self::RealTime { pid: other_pid, .. })
            | (Self::Server { pid, .. }, Self::Server { pid: other_pid, .. }) => pid == other_pid,
            _ => self == other,
        }
    }

    pub(super) const fn has_name(&self) -> bool {
        !matches!(self, Self::Thread { comm, .. } | Self::RealTime { comm, .. } | Self::Server { comm, .. } if comm[0] == 0)
    }

    /// As a normal thread sees it: what real-time threads are kept off by is a thread like any other.
    pub(super) const fn to_ordinary(self) -> Self {
        match self {
            Self::Server { pid, comm } => Self::Thread { pid, comm },
            other => other,
        }
    }

    pub(super) fn describe(&self, interrupts: &mut InterruptNames) -> CpuHolder {
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
            Self::RealTime { pid, comm } => match (Self::Thread { pid, comm }).describe(interrupts) {
                who if who.holder == HolderKind::Thread => {
                    CpuHolder { holder: HolderKind::RealTimeThread, ..who }
                }
                other => other,
            },
            Self::Server { .. } => match self.to_ordinary().describe(interrupts) {
                who if who.holder == HolderKind::Thread => CpuHolder { holder: HolderKind::Server, ..who },
                other => other,
            },
            Self::Handler(number) => {
                CpuHolder { holder: HolderKind::Interrupt, pid: None, name: interrupts.name(number) }
            }
            Self::Softirq(vector) => {
                CpuHolder { holder: HolderKind::Softirq, pid: None, name: softirq_name(vector) }
            }
            Self::Tick => CpuHolder { holder: HolderKind::Interrupt, pid: None, name: TICK.to_owned() },
            Self::NotSeen => nameless(HolderKind::NotSeen),
        }
    }
}
