//! A guest polls for a while before it gives its CPU back to the host.
//!
//! Source: Documentation/virt/guest-halt-polling.rst.

use howlate_model::SettingScope;
use howlate_procfs::Root;

use crate::knob::{Knob, Look};

pub(crate) const KNOB: Knob = Knob {
    name: "halt_polling",
    scope: SettingScope::Machine,
    what: "a guest that polls longer before it halts",
    cost: "CPU time of the host",
    look,
    texts: &[],
};

fn look(root: &Root) -> Look {
    if root.read("/sys/devices/system/cpu/cpuidle/current_driver").as_deref() != Ok("haltpoll") {
        return Look::Absent("this is not a guest whose idle driver is haltpoll".to_owned());
    }
    Look::file(root, "/sys/module/haltpoll/parameters/guest_halt_poll_ns", "1000000")
}
