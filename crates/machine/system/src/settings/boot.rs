//! Parameters of the kernel command line: listed with the command to set them, never tried.

use crate::settings::cpus::core_to_isolate;
use crate::settings::tunable::{Probe, Tunable};
use howlate_model::{CpuSet, SettingScope};
use howlate_procfs::{CommandLine, CpuInfo, Kernel, Root};

/// CPUs to which the scheduler does not move threads by itself.
///
/// Source: Documentation/admin-guide/kernel-parameters.txt.
pub(crate) const ISOLCPUS: Tunable = Tunable {
    name: "isolcpus",
    scope: SettingScope::Boot,
    what: "a core to which the scheduler moves nothing",
    cost: "one core fewer for everything else",
    probe: probe_isolcpus,
    permanent: &[],
};

fn probe_isolcpus(root: &Root) -> Probe {
    match (CommandLine::read(root).has("isolcpus"), core_to_isolate(root)) {
        (true, _) => {
            Probe::AsWanted(CommandLine::read(root).value("isolcpus").unwrap_or_default().to_owned())
        }
        (false, Some(core)) => Probe::boot(root, isolcpus_parameter(root, &core)),
        (false, None) => Probe::Absent("this machine has only one core".to_owned()),
    }
}

/// Kernels before 5.6 do not know `managed_irq`, and ignore the whole parameter because of it: kernel/sched/isolation.c.
fn isolcpus_parameter(root: &Root, cpus: &CpuSet) -> String {
    match Kernel::read(root).at_least(5, 6) {
        Some(false) => format!("isolcpus={cpus}"),
        _ => format!("isolcpus=domain,managed_irq,{cpus}"),
    }
}

/// CPUs whose tick stops while a single thread is runnable.
///
/// Source: Documentation/timers/no_hz.rst.
pub(crate) const NOHZ_FULL: Tunable = Tunable {
    name: "nohz_full",
    scope: SettingScope::Boot,
    what: "no tick on a CPU that runs one thread",
    cost: "entering the kernel takes longer there",
    probe: probe_nohz_full,
    permanent: &[],
};

/// The CPUs without a tick; exists on every kernel with CONFIG_NO_HZ_FULL: drivers/base/cpu.c.
pub(crate) const NOHZ_FULL_FILE: &str = "/sys/devices/system/cpu/nohz_full";

fn probe_nohz_full(root: &Root) -> Probe {
    if !root.has(NOHZ_FULL_FILE) {
        return Probe::Absent("this kernel was built without CONFIG_NO_HZ_FULL".to_owned());
    }
    match (CommandLine::read(root).has("nohz_full"), core_to_isolate(root)) {
        (true, _) => {
            Probe::AsWanted(CommandLine::read(root).value("nohz_full").unwrap_or_default().to_owned())
        }
        (false, Some(core)) => Probe::boot(root, format!("nohz_full={core} rcu_nocbs={core}")),
        (false, None) => Probe::Absent("this machine has only one core".to_owned()),
    }
}

/// CPUs whose RCU callbacks run on other CPUs.
///
/// Source: Documentation/admin-guide/kernel-parameters.txt.
pub(crate) const RCU_NOCBS: Tunable = Tunable {
    name: "rcu_nocbs",
    scope: SettingScope::Boot,
    what: "RCU callbacks run on other CPUs",
    cost: "kernel threads run them elsewhere",
    probe: probe_rcu_nocbs,
    permanent: &[],
};

fn probe_rcu_nocbs(root: &Root) -> Probe {
    match (CommandLine::read(root).has("rcu_nocbs"), core_to_isolate(root)) {
        (true, _) => {
            Probe::AsWanted(CommandLine::read(root).value("rcu_nocbs").unwrap_or_default().to_owned())
        }
        (false, Some(core)) => Probe::boot(root, format!("rcu_nocbs={core}")),
        (false, None) => Probe::Absent("this machine has only one core".to_owned()),
    }
}

/// Interrupt handlers as threads with real-time priority 50, above normal threads.
///
/// Source: Documentation/admin-guide/kernel-parameters.txt.
pub(crate) const THREADIRQS: Tunable = Tunable {
    name: "threadirqs",
    scope: SettingScope::Boot,
    what: "interrupt handlers as threads",
    cost: "each interrupt takes longer",
    probe: probe_threadirqs,
    permanent: &[],
};

fn probe_threadirqs(root: &Root) -> Probe {
    match CommandLine::read(root).has("threadirqs") || Kernel::is_realtime(root) {
        true => Probe::AsWanted("handlers are threads".to_owned()),
        false => Probe::boot(root, "threadirqs"),
    }
}

/// Idle CPUs poll instead of sleeping.
///
/// Source: Documentation/admin-guide/kernel-parameters.txt; x86 only.
pub(crate) const IDLE_POLL: Tunable = Tunable {
    name: "idle_poll",
    scope: SettingScope::Boot,
    what: "idle CPUs poll rather than sleep",
    cost: "power and heat: every CPU is busy at all times",
    probe: probe_idle_poll,
    permanent: &[],
};

fn probe_idle_poll(root: &Root) -> Probe {
    let line = CommandLine::read(root);
    let is_x86 = CpuInfo::read(root).field("vendor_id").is_some();
    match (line.value("idle"), is_x86) {
        (Some("poll"), _) => Probe::AsWanted("poll".to_owned()),
        (_, true) => Probe::boot(root, "idle=poll"),
        (_, false) => Probe::Absent("only x86 has it".to_owned()),
    }
}

/// Mitigations of processor flaws, which make every kernel entry longer.
///
/// Source: Documentation/admin-guide/hw-vuln/.
pub(crate) const MITIGATIONS: Tunable = Tunable {
    name: "mitigations",
    scope: SettingScope::Boot,
    what: "no mitigations of processor flaws",
    cost: "security: programs may read the data of others",
    probe: probe_mitigations,
    permanent: &[],
};

fn probe_mitigations(root: &Root) -> Probe {
    match CommandLine::read(root).value("mitigations") {
        Some("off") => Probe::AsWanted("off".to_owned()),
        _ => Probe::boot(root, "mitigations=off"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::testing::tree;

    #[test]
    fn an_old_kernel_gets_no_flag_that_it_does_not_know() {
        let of = |release: &str| {
            isolcpus_parameter(
                &tree(&[("/proc/sys/kernel/osrelease", release)]).1,
                &std::iter::once(3).collect(),
            )
        };
        assert_eq!(of("4.19.0-27-rt-amd64"), "isolcpus=3");
        assert_eq!(of("6.12.0"), "isolcpus=domain,managed_irq,3");
    }
}
