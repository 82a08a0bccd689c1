//! What this process may do.

use howlate_procfs::{Reading, Root, Status};

/// Capabilities that bear on punctuality or on explaining it, with their bit.
///
/// Source: `include/uapi/linux/capability.h`.
pub(crate) const CAPABILITIES: [(&str, u32); 6] = [
    ("CAP_IPC_LOCK", 14),
    ("CAP_SYS_ADMIN", 21),
    ("CAP_SYS_NICE", 23),
    ("CAP_SYS_RESOURCE", 24),
    ("CAP_PERFMON", 38),
    ("CAP_BPF", 39),
];

/// `/proc/self/status` and `/proc/self/uid_map`.
pub(crate) struct Process {
    pub(crate) status: Status,
    pub(crate) uid_map: Reading,
}

impl Process {
    pub(crate) fn read(root: &Root) -> Self {
        Self { status: Status::read_own(root), uid_map: root.reading("/proc/self/uid_map") }
    }

    /// Whether a capability is effective; `None` when it cannot be read.
    pub(crate) fn holds(&self, capability: &str) -> Option<bool> {
        let (_, bit) = CAPABILITIES.into_iter().find(|(name, _)| *name == capability)?;
        self.status.has_bit("CapEff", bit)
    }

    /// Whether this is a user namespace of its own, where capabilities do not reach the
    /// scheduler: it asks for them in the first namespace, which maps every user to itself.
    ///
    /// Source: `user_namespaces(7)`; `kernel/sched/syscalls.c`, `user_check_sched_setscheduler`.
    pub(crate) fn in_user_namespace(&self) -> bool {
        let numbers = |map: &str| map.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        self.uid_map.text().is_some_and(|map| numbers(map) != ["0", "0", "4294967295"])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(status: &str, uid_map: &str) -> Process {
        let reading = |text: &str| Reading { path: "/p".into(), content: Ok(text.into()) };
        Process { status: Status { reading: reading(status) }, uid_map: reading(uid_map) }
    }

    #[test]
    fn capabilities_are_bits() {
        let holder = process("Name:\tx\nCapEff:\t0000000000800000", "0 0 4294967295");
        assert_eq!(holder.holds("CAP_SYS_NICE"), Some(true));
        assert_eq!(holder.holds("CAP_IPC_LOCK"), Some(false));
        assert!(!holder.in_user_namespace());
        assert!(process("", "0 1000 1\n1 100000 65536").in_user_namespace());
        assert_eq!(process("", "").holds("CAP_SYS_NICE"), None);
    }
}
