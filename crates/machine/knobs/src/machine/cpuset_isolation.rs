//! CPUs that the scheduler moves no thread to by itself, given to a control group while the machine runs.
//!
//! Source: Documentation/admin-guide/cgroup-v2.rst, `cpuset.cpus.partition`.

use howlate_model::SettingScope;
use howlate_procfs::Root;

use crate::knob::{Knob, Look};
use crate::persistent::Text;

pub(crate) const KNOB: Knob = Knob {
    name: "cpuset_isolation",
    scope: SettingScope::Machine,
    what: "CPUs reserved for one control group",
    cost: "fewer CPUs for everything else",
    look,
    texts: &[Text::Line(
        "systemd",
        "AllowedCPUs=N, and `isolated` in cpuset.cpus.partition of the unit's control group",
    )],
};

/// A group has to be made for it, and the thread moved there, so there is nothing to write that could be put back alone.
fn look(root: &Root) -> Look {
    let controllers = root.read("/sys/fs/cgroup/cgroup.controllers").unwrap_or_default();
    match controllers.split_whitespace().any(|one| one == "cpuset") {
        true => Look::never_turned("the program would need a control group of its own; howlate creates none"),
        false => Look::Absent("this machine has no cgroup v2 cpuset controller".to_owned()),
    }
}
