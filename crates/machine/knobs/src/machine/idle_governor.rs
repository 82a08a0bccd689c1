//! Who chooses the idle state: `teo` goes by when timers are due, `menu` by what was before.
//!
//! Source: Documentation/admin-guide/pm/cpuidle.rst.

use howlate_model::SettingScope;
use howlate_procfs::Root;

use crate::knob::{Knob, Look};

pub(crate) const KNOB: Knob = Knob {
    name: "idle_governor",
    scope: SettingScope::Machine,
    what: "a different governor of idle states",
    cost: "different idle states: may take more power or less",
    look,
    texts: &[],
};

const FOLDER: &str = "/sys/devices/system/cpu/cpuidle";

/// The other of the two that are made for machines whose tick stops.
fn look(root: &Root) -> Look {
    let available = root.read(&format!("{FOLDER}/available_governors")).unwrap_or_default();
    let now = root.read(&format!("{FOLDER}/current_governor")).unwrap_or_default();
    let others = ["teo", "menu"].into_iter().filter(|name| *name != now);
    match others.into_iter().find(|name| available.split_whitespace().any(|one| one == *name)) {
        Some(other) => Look::file(root, &format!("{FOLDER}/current_governor"), other),
        None => Look::Absent("this kernel has no other governor of idle states".to_owned()),
    }
}
