//! Pages are unmapped now and then to learn which node uses them.
//!
//! Source: Documentation/admin-guide/sysctl/kernel.rst.

use howlate_model::SettingScope;

use crate::knob::{Knob, Look};

/// Where it stands.
pub const FILE: &str = "/proc/sys/kernel/numa_balancing";

pub(crate) const KNOB: Knob = Knob {
    name: "numa_balancing",
    scope: SettingScope::Machine,
    what: "pages are not unmapped to find out who uses them",
    cost: "memory stays on the node where it was first touched",
    look: |root| Look::file(root, FILE, "0"),
    texts: &[],
};
