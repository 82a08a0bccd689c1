//! CPUs that the scheduler moves no thread to by itself, given to a control group while the machine runs.
//!
//! Source: Documentation/admin-guide/cgroup-v2.rst, `cpuset.cpus.partition`.

use howlate_procfs::Root;

use crate::knob::{Knob, Look, Scope};
use crate::way::Text;

pub(crate) const KNOB: Knob = Knob {
    name: "cpuset_isolation",
    scope: Scope::Machine,
    what: "CPUs given to a control group of their own",
    cost: "the others have fewer CPUs",
    look,
    texts: &[Text(
        "systemd",
        "AllowedCPUs=N, and `isolated` in cpuset.cpus.partition of the unit's control group",
    )],
};

/// A group has to be made for it, and the thread moved there, so there is nothing to write that could be put back alone.
fn look(root: &Root) -> Look {
    let controllers = root.read("/sys/fs/cgroup/cgroup.controllers").unwrap_or_default();
    match controllers.split_whitespace().any(|one| one == "cpuset") {
        true => Look::left("it takes a control group that holds the program; howlate makes none"),
        false => {
            Look::Absent("this machine has no cpuset controller of control groups, version 2".to_owned())
        }
    }
}
