//! CPUs that the scheduler moves no thread to by itself.
//!
//! Source: Documentation/admin-guide/kernel-parameters.txt.

use howlate_model::Scope;
use howlate_procfs::{CommandLine, Root, list_of_cpus};

use crate::knob::{Knob, Look};

pub(crate) const KNOB: Knob = Knob {
    name: "isolcpus",
    scope: Scope::Boot,
    what: "a CPU to which the scheduler moves nothing",
    cost: "one CPU fewer for everything else",
    look,
    texts: &[],
};

fn look(root: &Root) -> Look {
    match (CommandLine::read(root).has("isolcpus"), last(root)) {
        (true, _) => Look::AsWanted(CommandLine::read(root).value("isolcpus").unwrap_or_default().to_owned()),
        (false, Some(last)) => Look::boot(format!("isolcpus=domain,managed_irq,{last}")),
        (false, None) => Look::Absent("this machine has only one CPU".to_owned()),
    }
}

/// The last of several CPUs.
pub(super) fn last(root: &Root) -> Option<u32> {
    let online = list_of_cpus(root, "/sys/devices/system/cpu/online");
    online.iter().last().filter(|_| online.len() > 1)
}
