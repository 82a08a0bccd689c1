//! Whether each session of a terminal shares the CPU as one, so that a nice value counts only within.
//!
//! Source: `sched(7)`, the autogroup feature.

use howlate_model::SettingScope;

use crate::knob::{Knob, Look};

/// Where it stands.
pub const FILE: &str = "/proc/sys/kernel/sched_autogroup_enabled";

pub(crate) const KNOB: Knob = Knob {
    name: "autogroup",
    scope: SettingScope::Machine,
    what: "nice values apply across sessions",
    cost: "a session with many threads takes more of the CPU",
    look: |root| Look::file(root, FILE, "0"),
    texts: &[],
};
