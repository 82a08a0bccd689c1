//! Where interrupts are handled: away from the CPUs that are isolated, or all on the first.
//!
//! Interrupts that the kernel manages for a device answer EIO and stay where they are. Source: Documentation/core-api/irq/irq-affinity.rst.

use howlate_model::{CpuSet, Scope};
use howlate_procfs::Root;

use crate::knob::{Knob, Look};
use crate::machine::housekeeping::housekeeping;
use crate::per_instance::Files;

pub(crate) const KNOB: Knob = Knob {
    name: "irq_affinity",
    scope: Scope::Machine,
    what: "interrupts are handled by house-keeping CPUs",
    cost: "the remaining CPUs handle them all: less disk and network throughput",
    look,
    texts: &[],
};

fn look(root: &Root) -> Look {
    let (kept, freed) = housekeeping(root);
    if freed.is_empty() {
        return Look::Absent("this machine has only one CPU".to_owned());
    }
    let all = interrupts(root);
    let meets =
        |list: &str| list.parse().is_ok_and(|list: CpuSet| list.iter().any(|cpu| freed.contains(cpu)));
    let near = all.only(meets);
    match (all.is_empty(), near.is_empty()) {
        (true, _) => Look::Absent("this machine lists no interrupts".to_owned()),
        (false, true) => Look::AsWanted(kept.to_string()),
        (false, false) => Look::files(near.write(&kept.to_string())),
    }
}

/// The CPUs that each interrupt may be handled by.
pub fn interrupts(root: &Root) -> Files {
    Files::list(root, "/proc/irq", "", "smp_affinity_list")
}
