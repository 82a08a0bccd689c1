//! How readily memory of programs is written to disk.
//!
//! Source: Documentation/admin-guide/sysctl/vm.rst.

use howlate_model::SettingScope;

use crate::knob::{Knob, Look};

/// Where it stands.
pub const FILE: &str = "/proc/sys/vm/swappiness";

pub(crate) const KNOB: Knob = Knob {
    name: "swappiness",
    scope: SettingScope::Machine,
    what: "programs' memory is swapped out last",
    cost: "less memory for the file cache",
    look: |root| Look::file(root, FILE, "0"),
    texts: &[],
};
