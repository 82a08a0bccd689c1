//! CPUs whose tick stops while a single thread runs.
//!
//! Source: Documentation/timers/no_hz.rst.

use howlate_model::SettingScope;
use howlate_procfs::{CommandLine, Root};

use crate::boot::core_to_isolate::core_to_isolate;
use crate::knob::{Knob, Look};

/// The CPUs that go without; there wherever a kernel can do it: drivers/base/cpu.c.
pub const FILE: &str = "/sys/devices/system/cpu/nohz_full";

pub(crate) const KNOB: Knob = Knob {
    name: "nohz_full",
    scope: SettingScope::Boot,
    what: "no tick on a CPU that runs one thread",
    cost: "entering the kernel takes longer there",
    look,
    texts: &[],
};

fn look(root: &Root) -> Look {
    if !root.has(FILE) {
        return Look::Absent("this kernel was built without CONFIG_NO_HZ_FULL".to_owned());
    }
    match (CommandLine::read(root).has("nohz_full"), core_to_isolate(root)) {
        (true, _) => {
            Look::AsWanted(CommandLine::read(root).value("nohz_full").unwrap_or_default().to_owned())
        }
        (false, Some(core)) => Look::boot(root, format!("nohz_full={core} rcu_nocbs={core}")),
        (false, None) => Look::Absent("this machine has only one core".to_owned()),
    }
}
