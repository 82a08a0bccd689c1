//! How often a worker on each CPU gathers the counters of memory, in seconds.
//!
//! Source: Documentation/admin-guide/sysctl/vm.rst.

use howlate_model::SettingScope;

use crate::knob::{Knob, Look};

pub(crate) const KNOB: Knob = Knob {
    name: "stat_interval",
    scope: SettingScope::Machine,
    what: "memory statistics are gathered only every two minutes",
    cost: "figures such as those in /proc/meminfo are less up to date",
    look: |root| Look::file(root, "/proc/sys/vm/stat_interval", "120"),
    texts: &[],
};
