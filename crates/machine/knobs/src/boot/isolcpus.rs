//! CPUs that the scheduler moves no thread to by itself.
//!
//! Source: Documentation/admin-guide/kernel-parameters.txt.

use howlate_model::{CpuSet, SettingScope};
use howlate_procfs::{CommandLine, Kernel, Root};

use crate::boot::core_to_isolate::core_to_isolate;
use crate::knob::{Knob, Look};

pub(crate) const KNOB: Knob = Knob {
    name: "isolcpus",
    scope: SettingScope::Boot,
    what: "a core to which the scheduler moves nothing",
    cost: "one core fewer for everything else",
    look,
    texts: &[],
};

fn look(root: &Root) -> Look {
    match (CommandLine::read(root).has("isolcpus"), core_to_isolate(root)) {
        (true, _) => Look::AsWanted(CommandLine::read(root).value("isolcpus").unwrap_or_default().to_owned()),
        (false, Some(core)) => Look::boot(root, words(root, &core)),
        (false, None) => Look::Absent("this machine has only one core".to_owned()),
    }
}

/// A kernel from before Linux 5.6 knows no `managed_irq`, and ignores the whole parameter with it: kernel/sched/isolation.c.
fn words(root: &Root, cpus: &CpuSet) -> String {
    match Kernel::read(root).at_least(5, 6) {
        Some(false) => format!("isolcpus={cpus}"),
        _ => format!("isolcpus=domain,managed_irq,{cpus}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;

    #[test]
    fn an_old_kernel_is_given_no_flag_that_it_does_not_know() {
        let of = |release: &str| {
            words(&tree(&[("/proc/sys/kernel/osrelease", release)]).1, &std::iter::once(3).collect())
        };
        assert_eq!(of("4.19.0-27-rt-amd64"), "isolcpus=3");
        assert_eq!(of("6.12.0"), "isolcpus=domain,managed_irq,3");
    }
}
