//! The budget of all real-time threads together.
//!
//! Source: `sched(7)`; since Linux 6.12 the fair server does this.

use howlate_model::SettingScope;

use crate::knob::{Knob, Look};

/// Where it stands.
pub const FILE: &str = "/proc/sys/kernel/sched_rt_runtime_us";

pub(crate) const KNOB: Knob = Knob {
    name: "rt_throttling",
    scope: SettingScope::Machine,
    what: "real-time threads are never throttled",
    cost: "a real-time thread that never sleeps takes its CPU for good",
    look: |root| Look::file(root, FILE, "-1"),
    texts: &[],
};
