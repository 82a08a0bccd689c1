//! Where the kernel lets itself be preempted, on kernels that can change it (`PREEMPT_DYNAMIC`).
//!
//! Source: kernel/sched/core.c, `sched_dynamic_update`.

use howlate_model::SettingScope;

use crate::knob::{Knob, Look};
use crate::persistent::Text;

/// Where it stands.
pub const FILE: &str = "/sys/kernel/debug/sched/preempt";

pub(crate) const KNOB: Knob = Knob {
    name: "preemption_model",
    scope: SettingScope::Machine,
    what: "the kernel can be preempted almost everywhere",
    cost: "a little throughput",
    look: |root| Look::file(root, FILE, "full"),
    texts: &[Text::Line("boot", "preempt=full")],
};
