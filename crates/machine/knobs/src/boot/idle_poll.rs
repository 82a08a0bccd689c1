//! Idle CPUs that never sleep.
//!
//! Source: Documentation/admin-guide/kernel-parameters.txt; x86 only.

use howlate_model::SettingScope;
use howlate_procfs::{CommandLine, CpuInfo, Root};

use crate::knob::{Knob, Look};

pub(crate) const KNOB: Knob = Knob {
    name: "idle_poll",
    scope: SettingScope::Boot,
    what: "idle CPUs poll rather than sleep",
    cost: "power and heat: every CPU is busy at all times",
    look,
    texts: &[],
};

fn look(root: &Root) -> Look {
    let line = CommandLine::read(root);
    let is_x86 = CpuInfo::read(root).field("vendor_id").is_some();
    match (line.value("idle"), is_x86) {
        (Some("poll"), _) => Look::AsWanted("poll".to_owned()),
        (_, true) => Look::boot(root, "idle=poll"),
        (_, false) => Look::Absent("only x86 has it".to_owned()),
    }
}
