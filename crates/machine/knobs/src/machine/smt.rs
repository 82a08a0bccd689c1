//! Two CPUs of one core compete for its units. Switching them off takes CPUs offline.
//!
//! Source: Documentation/ABI/testing/sysfs-devices-system-cpu.

use howlate_model::SettingScope;
use howlate_procfs::Root;

use crate::knob::{Knob, Look};

/// Where it stands.
pub const CONTROL: &str = "/sys/devices/system/cpu/smt/control";

pub(crate) const KNOB: Knob = Knob {
    name: "smt",
    scope: SettingScope::Machine,
    what: "no core is shared by two CPUs",
    cost: "half of the CPUs",
    look,
    texts: &[],
};

fn look(root: &Root) -> Look {
    match root.read(CONTROL).as_deref() {
        Ok("on") => Look::file(root, CONTROL, "off")
            .but("it takes CPUs offline; keep the sibling of a CPU idle instead"),
        Ok("off" | "forceoff") => Look::AsWanted("off".to_owned()),
        _ => Look::Absent("no core of this machine is shared".to_owned()),
    }
}
