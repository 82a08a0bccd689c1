//! CPUs on which interrupts, received packets and unbound kernel work are handled.

use crate::settings::cpus::housekeeping;
use crate::settings::numbered_files::NumberedFiles;
use crate::settings::tunable::{Probe, Tunable};
use crate::settings::writes::{Writes, cpu_mask};
use howlate_model::{CpuSet, SettingScope};
use howlate_procfs::{CpuInfo, InterruptCounts, InterruptRow, Kernel, Root, read_cpu_list};

/// CPUs that handle interrupts: not the isolated ones, or only the first.
///
/// The effective affinity counts, not the allowed CPUs. Some interrupts cannot be moved: per-CPU timers and counters, and managed
/// interrupts of devices, whose files are read-only since Linux 6.12.
///
/// Source: Documentation/core-api/irq/irq-affinity.rst; Linux commit c7718e5c76d4.
pub(crate) const IRQ_AFFINITY: Tunable = Tunable {
    name: "irq_affinity",
    scope: SettingScope::Machine,
    what: "interrupts are handled by house-keeping CPUs",
    cost: "the remaining CPUs handle them all: less disk and network throughput",
    probe: probe_irq_affinity,
    permanent: &[],
};

const INTERRUPTS: &str = "/proc/irq";

fn probe_irq_affinity(root: &Root) -> Probe {
    let (housekeeping, freed) = housekeeping(root);
    if freed.is_empty() {
        return Probe::Absent("this machine has only one CPU".to_owned());
    }
    let movable = movable(root);
    let near = handled_by(root, &movable, &freed);
    match (movable.is_empty(), near.is_empty()) {
        (true, _) => Probe::Absent("this machine lists no interrupts that can be moved".to_owned()),
        (false, true) => Probe::AsWanted(housekeeping.to_string()),
        (false, false) => Probe::files(write_affinity(&near, &housekeeping)),
    }
}

/// About the number of interrupt vectors of an x86 CPU: arch/x86/include/asm/irq_vectors.h.
const VECTORS: usize = 200;

fn write_affinity(interrupts: &NumberedFiles, cpus: &CpuSet) -> Writes {
    let mut writes = interrupts.write(&cpus.to_string());
    if interrupts.len() > VECTORS * cpus.len() {
        let command = writes.remedy.apply.iter_mut().last();
        command.into_iter().for_each(|command| {
            command.push_str("   # as many as fit: a CPU has about 200 vectors (ENOSPC)")
        });
    }
    writes
}

/// Affinities of the interrupts that can be moved.
pub(crate) fn movable(root: &Root) -> NumberedFiles {
    let table = InterruptCounts::read(root);
    let is_pc = CpuInfo::read(root).field("vendor_id").is_some();
    let can_move = |number: u32| {
        let is_legacy = is_pc && LEGACY_OF_PC.contains(&number);
        let row = table.row(&number.to_string());
        let is_fixed = row.is_some_and(|row| is_per_cpu(&row) || is_managed_queue(row.action));
        !is_legacy && !is_fixed && root.is_settable(&format!("{INTERRUPTS}/{number}/smp_affinity_list"))
    };
    NumberedFiles::list(root, INTERRUPTS, "", "smp_affinity_list").filter_numbers(can_move)
}

/// Managed interrupts of disk queues that are handled by one of the CPUs `isolated`, although other CPUs are in their affinity as well.
/// `isolcpus=managed_irq` moves them.
///
/// Source: Documentation/admin-guide/kernel-parameters.txt, `isolcpus=`; kernel/irq/manage.c, `irq_do_set_affinity`.
pub(crate) fn managed_near(root: &Root, isolated: &CpuSet) -> NumberedFiles {
    let table = InterruptCounts::read(root);
    let is_managed =
        |number: u32| table.row(&number.to_string()).is_some_and(|row| is_managed_queue(row.action));
    let is_mixed = |list: &str| {
        list.parse()
            .is_ok_and(|list: CpuSet| !list.without(isolated).is_empty() && list.without(isolated) != list)
    };
    let queues = NumberedFiles::list(root, INTERRUPTS, "", "smp_affinity_list")
        .filter_numbers(is_managed)
        .filter_values(is_mixed);
    handled_by(root, &queues, isolated)
}

/// The timer and the cascade of every PC.
const LEGACY_OF_PC: [u32; 2] = [0, 2];
/// Lower interrupt numbers are private to each CPU: Arm, Generic Interrupt Controller Architecture Specification, private peripherals.
const FIRST_SHARED_OF_ARM: u32 = 32;

/// Per-CPU timers and counters of Arm, by the action names of their drivers.
///
/// Source: drivers/clocksource/arm_arch_timer.c; drivers/perf/arm_pmu.c, `IRQF_PERCPU | IRQF_NOBALANCING`.
const PER_CPU_ACTIONS: [&str; 2] = ["arch_timer", "arm-pmu"];

fn is_per_cpu(row: &InterruptRow<'_>) -> bool {
    let is_private =
        row.chip.starts_with("GIC") && row.number_at_chip.is_some_and(|number| number < FIRST_SHARED_OF_ARM);
    is_private || row.chip.starts_with("RISC-V") || PER_CPU_ACTIONS.contains(&row.action)
}

/// Whether the interrupt belongs to a queue with managed affinity: of an NVMe disk, except the admin queue 0; of RAID controllers; of a
/// virtual disk.
///
/// Source: `PCI_IRQ_AFFINITY` and `struct irq_affinity` in drivers/nvme/host/pci.c, drivers/scsi/{megaraid,mpt3sas,virtio_scsi.c},
/// drivers/block/virtio_blk.c.
fn is_managed_queue(action: &str) -> bool {
    const OTHER_DRIVERS: [(&str, &str); 4] =
        [("megasas", "-msix"), ("mpt3sas", "-msix"), ("mpt2sas", "-msix"), ("virtio", "-req.")];
    let queue = action.strip_prefix("nvme").and_then(|rest| rest.split_once('q')).map(|(_, queue)| queue);
    let is_nvme = queue.is_some_and(|queue| queue.parse::<u32>().is_ok_and(|queue| queue > 0));
    is_nvme
        || OTHER_DRIVERS.iter().any(|(driver, queue)| action.starts_with(driver) && action.contains(queue))
}

/// The interrupts that one of `cpus` handles. Without an effective affinity, any CPU of the affinity counts.
/// An interrupt that several CPUs of Arm handle is per-CPU: the interrupt controller sends a shared one to a single CPU.
pub(crate) fn handled_by(root: &Root, interrupts: &NumberedFiles, cpus: &CpuSet) -> NumberedFiles {
    let architecture = Kernel::architecture(root).unwrap_or_default();
    let is_arm = ["aarch64", "arm", "armv7l"].contains(&architecture.as_str());
    let meets = |list: &CpuSet| list.iter().any(|cpu| cpus.contains(cpu));
    let allowed = interrupts.filter_values(|list| list.parse().is_ok_and(|list| meets(&list)));
    allowed.filter_numbers(|number| {
        let handled = read_cpu_list(root, &format!("{INTERRUPTS}/{number}/effective_affinity_list"));
        (handled.is_empty() || meets(&handled)) && !(is_arm && handled.len() > 1)
    })
}

/// Receive packet steering (RPS): without it, the CPU that got the interrupt handles the packets.
///
/// Source: Documentation/networking/scaling.rst.
pub(crate) const RECEIVE_STEERING: Tunable = Tunable {
    name: "receive_steering",
    scope: SettingScope::Machine,
    what: "packets are handled by the CPU that got the interrupt",
    cost: "each queue's packets are handled by one CPU: less throughput",
    probe: probe_receive_steering,
    permanent: &[],
};

/// Contains the network cards with their queues.
pub(crate) const RECEIVE_STEERING_FOLDER: &str = "/sys/class/net";

fn probe_receive_steering(root: &Root) -> Probe {
    let queues = |card: &String| {
        let steered =
            NumberedFiles::list(root, &format!("{RECEIVE_STEERING_FOLDER}/{card}/queues"), "rx-", "rps_cpus");
        steered.filter_values(|mask| mask.bytes().any(|byte| !matches!(byte, b'0' | b',')))
    };
    let cards = root.list(RECEIVE_STEERING_FOLDER);
    let steered: Vec<NumberedFiles> = cards.iter().map(queues).filter(|queues| !queues.is_empty()).collect();
    if steered.is_empty() {
        return Probe::AsWanted("no packets are steered".to_owned());
    }
    Probe::files(steered.iter().fold(Writes::default(), |writes, queues| writes.and(queues.write("0"))))
}

/// CPUs of unbound workqueues.
///
/// Source: Documentation/core-api/workqueue.rst.
pub(crate) const WORKQUEUE_CPUS: Tunable = Tunable {
    name: "workqueue_cpus",
    scope: SettingScope::Machine,
    what: "the kernel's unbound work runs on house-keeping CPUs",
    cost: "the remaining CPUs do all of it",
    probe: probe_workqueue_cpus,
    permanent: &[],
};

pub(crate) const WORKQUEUE_CPUS_FILE: &str = "/sys/devices/virtual/workqueue/cpumask";

fn probe_workqueue_cpus(root: &Root) -> Probe {
    let (housekeeping, freed) = housekeeping(root);
    if freed.is_empty() {
        return Probe::Absent("this machine has only one CPU".to_owned());
    }
    Probe::file(root, WORKQUEUE_CPUS_FILE, &cpu_mask(&housekeeping))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::testing::tree;

    #[test]
    fn managed_queues_are_known_by_their_names() {
        let managed = ["nvme0q3", "megasas0-msix12", "mpt3sas0-msix4", "virtio1-req.3"];
        assert!(managed.into_iter().all(is_managed_queue));
        assert!(
            !["nvme0q0", "eth0-TxRx-3", "virtio0-input.0", "virtio1-config"]
                .into_iter()
                .any(is_managed_queue)
        );
    }

    const TABLE: &str = "           CPU0       CPU1       CPU2       CPU3
  9:          0          0          0          0     GICv3  25 Level     vgic
 11:         10         10         10         10     GICv3  30 Level     arch_timer
 40:          5          0          0          0     GICv3  72 Level     eth0
 50:          5          0          0          0 PCI-MSIX-0000:00:02.0   1-edge      nvme0q3
 51:          5          0          0          0 PCI-MSIX-0000:00:02.0   0-edge      nvme0q0
";

    #[test]
    fn queues_that_could_be_elsewhere_have_an_affinity_with_both_kinds_of_cpus() {
        let queue = |number: u32, list: &str, handled: &str| {
            let file = |name: &str| format!("/proc/irq/{number}/{name}");
            [
                (file("smp_affinity_list"), list.to_owned()),
                (file("effective_affinity_list"), handled.to_owned()),
            ]
        };
        let table = (50..54)
            .map(|number| format!(" {number}: 5 5 5 5 PCI-MSI {number}-edge nvme0q{}\n", number - 49));
        let table =
            ("/proc/interrupts".to_owned(), format!("  CPU0 CPU1 CPU2 CPU3\n{}", table.collect::<String>()));
        let queues =
            [queue(50, "0-1", "1"), queue(51, "2-3", "3"), queue(52, "0,2", "2"), queue(53, "1,3", "1")];
        let files = queues.concat().into_iter().chain([table]).collect::<Vec<_>>();
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let near = managed_near(&tree(&files).1, &"2-3".parse().unwrap());
        assert_eq!(near.numbers(), "52");
    }

    #[test]
    fn what_cannot_be_moved_is_left_out() {
        let list = |number: u32| format!("/proc/irq/{number}/smp_affinity_list");
        let paths: Vec<String> = [0, 9, 11, 40, 50, 51].map(list).to_vec();
        let mut files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "0-3")).collect();
        files.push(("/proc/interrupts", TABLE));
        let (_folder, arm) = tree(&files);
        assert_eq!(movable(&arm).numbers(), "0, 40, 51");
        files.push(("/proc/cpuinfo", "vendor_id\t: GenuineIntel\n"));
        let (folder, pc) = tree(&files);
        assert_eq!(movable(&pc).numbers(), "40, 51");
        let read_only = std::os::unix::fs::PermissionsExt::from_mode(0o444);
        std::fs::set_permissions(folder.path().join("proc/irq/51/smp_affinity_list"), read_only).unwrap();
        assert_eq!(movable(&pc).numbers(), "40");
    }

    #[test]
    fn the_effective_affinity_counts() {
        let (_folder, root) = tree(&[
            ("/proc/sys/kernel/arch", "aarch64"),
            ("/proc/irq/39/smp_affinity_list", "0-3"),
            ("/proc/irq/39/effective_affinity_list", "0-3"),
            ("/proc/irq/40/smp_affinity_list", "0-3"),
            ("/proc/irq/40/effective_affinity_list", "1"),
            ("/proc/irq/41/smp_affinity_list", "0-3"),
            ("/proc/irq/41/effective_affinity_list", "3"),
            ("/proc/irq/42/smp_affinity_list", "0-3"),
            ("/proc/irq/43/smp_affinity_list", "0-1"),
        ]);
        let near = handled_by(&root, &movable(&root), &[2, 3].into_iter().collect());
        assert_eq!(near.numbers(), "41-42");
    }
}
