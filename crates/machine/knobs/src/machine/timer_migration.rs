//! Whether a timer may be queued on another CPU than the one that sets it.
//!
//! Source: kernel/sched/core.c, `get_nohz_timer_target`.

use howlate_model::SettingScope;

use crate::knob::{Knob, Look};

/// Where it stands.
pub const FILE: &str = "/proc/sys/kernel/timer_migration";

pub(crate) const KNOB: Knob = Knob {
    name: "timer_migration",
    scope: SettingScope::Machine,
    what: "timers stay on the CPU that set them",
    cost: "idle CPUs wake for timers that others would have handled: power",
    look: |root| Look::file(root, FILE, "0"),
    texts: &[],
};
