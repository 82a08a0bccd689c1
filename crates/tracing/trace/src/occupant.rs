//! Kinds of CPU occupants as the BPF programs number them.

use howlate_model::{CpuHolder, HolderKind};

use crate::irq_names::{InterruptNames, TICK, softirq_name};

/// `enum occupant_kind` of `bpf/occupant.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OccupantKind {
    /// A thread without real-time priority; number 0 is the idle thread.
    Thread,
    Interrupt,
    Softirq,
    Tick,
    NotSeen,
    /// A normal thread that the kernel ran ahead of real-time ones (fair server or throttling).
    Server,
    RealTimeThread,
    /// A thread without real-time priority that goes on after a lazy request to leave the CPU.
    LazyThread,
}

impl OccupantKind {
    /// In the order of their numbers.
    const ALL: [Self; 8] = [
        Self::Thread,
        Self::Interrupt,
        Self::Softirq,
        Self::Tick,
        Self::NotSeen,
        Self::Server,
        Self::RealTimeThread,
        Self::LazyThread,
    ];

    pub(crate) fn from_number(number: u32) -> Self {
        Self::ALL.get(number as usize).copied().unwrap_or(Self::NotSeen)
    }

    pub(crate) const fn is_thread(self) -> bool {
        matches!(self, Self::Thread | Self::Server | Self::RealTimeThread | Self::LazyThread)
    }

    /// The occupant with number `id`: a thread called `name`, an interrupt or a softirq.
    pub(crate) fn who(self, id: u32, name: String, interrupts: &mut InterruptNames) -> CpuHolder {
        let unnumbered = |holder, name| CpuHolder { holder, pid: None, name };
        match self {
            Self::Thread => thread(id, name),
            Self::Server => CpuHolder { holder: HolderKind::Server, ..thread(id, name) },
            Self::RealTimeThread => CpuHolder { holder: HolderKind::RealTimeThread, ..thread(id, name) },
            Self::LazyThread => CpuHolder { holder: HolderKind::LazyThread, ..thread(id, name) },
            Self::Interrupt => unnumbered(HolderKind::Interrupt, interrupts.name(id)),
            Self::Softirq => unnumbered(HolderKind::Softirq, softirq_name(id)),
            Self::Tick => unnumbered(HolderKind::Interrupt, TICK.to_owned()),
            Self::NotSeen => nameless(HolderKind::NotSeen),
        }
    }
}

/// A thread without real-time priority, or the idle thread.
pub(crate) fn thread(id: u32, name: String) -> CpuHolder {
    match id {
        0 => nameless(HolderKind::Idle),
        _ => CpuHolder { holder: HolderKind::Thread, pid: Some(id), name },
    }
}

pub(crate) const fn nameless(holder: HolderKind) -> CpuHolder {
    CpuHolder { holder, pid: None, name: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::BtfTypes;

    #[test]
    fn every_program_numbers_them_alike() {
        for object in ["late", "wakeups"] {
            let numbers = BtfTypes::of(object).enumerators("occupant_kind");
            let kinds = numbers.into_iter().map(|(name, number)| (OccupantKind::from_number(number), name));
            let names = ["THREAD", "INTERRUPT", "SOFTIRQ", "TICK", "UNSEEN", "SERVER", "URGENT", "LAZY"];
            let expected = OccupantKind::ALL.into_iter().zip(names.map(str::to_owned));
            assert_eq!(kinds.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{object}");
        }
    }
}
