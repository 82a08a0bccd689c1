//! Where the kernel's own work is done that is bound to no CPU.
//!
//! Source: Documentation/core-api/workqueue.rst.

use howlate_model::SettingScope;
use howlate_procfs::Root;

use crate::knob::{Knob, Look};
use crate::machine::housekeeping::housekeeping;
use crate::writes::mask;

/// Where it stands.
pub const FILE: &str = "/sys/devices/virtual/workqueue/cpumask";

pub(crate) const KNOB: Knob = Knob {
    name: "workqueue_cpus",
    scope: SettingScope::Machine,
    what: "the kernel's unbound work runs on house-keeping CPUs",
    cost: "the remaining CPUs do all of it",
    look,
    texts: &[],
};

fn look(root: &Root) -> Look {
    let (kept, freed) = housekeeping(root);
    if freed.is_empty() {
        return Look::Absent("this machine has only one CPU".to_owned());
    }
    Look::file(root, FILE, &mask(&kept))
}
