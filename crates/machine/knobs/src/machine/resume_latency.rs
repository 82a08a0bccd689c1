//! The same request for each CPU by itself: `n/a` is "none at all", and 0 is "as long as it likes".
//!
//! Source: Documentation/admin-guide/pm/cpuidle.rst.

use howlate_model::SettingScope;
use howlate_procfs::Root;

use crate::knob::{Knob, Look};
use crate::per_instance::Files;

pub(crate) const KNOB: Knob = Knob {
    name: "resume_latency",
    scope: SettingScope::Machine,
    what: "each CPU is asked to poll rather than sleep",
    cost: "power and heat: no CPU sleeps",
    look,
    texts: &[],
};

fn look(root: &Root) -> Look {
    if !root.has("/sys/devices/system/cpu/cpu0/cpuidle/state0/name") {
        return Look::Absent("this kernel manages no idle states".to_owned());
    }
    let each = Files::list(root, "/sys/devices/system/cpu", "cpu", "power/pm_qos_resume_latency_us");
    Look::files(each.write("n/a"))
}
