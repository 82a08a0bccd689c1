//! Where interrupts are handled: away from the CPUs that are set apart, or all on the first.
//!
//! Which CPUs one may be sent to says little; which it is sent to is what counts. Some cannot be moved: those of each CPU's own timer
//! and counters, and those that the kernel manages for a device, whose file nobody may write to since Linux 6.12.
//!
//! Source: Documentation/core-api/irq/irq-affinity.rst; Linux commit c7718e5c76d4.

use howlate_model::{CpuSet, SettingScope};
use howlate_procfs::{CpuInfo, InterruptCounts, InterruptRow, Kernel, Root, read_cpu_list};

use crate::knob::{Knob, Look};
use crate::machine::housekeeping::housekeeping;
use crate::per_instance::Files;
use crate::writes::Writes;

pub(crate) const KNOB: Knob = Knob {
    name: "irq_affinity",
    scope: SettingScope::Machine,
    what: "interrupts are handled by house-keeping CPUs",
    cost: "the remaining CPUs handle them all: less disk and network throughput",
    look,
    texts: &[],
};

const INTERRUPTS: &str = "/proc/irq";

fn look(root: &Root) -> Look {
    let (kept, freed) = housekeeping(root);
    if freed.is_empty() {
        return Look::Absent("this machine has only one CPU".to_owned());
    }
    let movable = movable(root);
    let near = handled_by(root, &movable, &freed);
    match (movable.is_empty(), near.is_empty()) {
        (true, _) => Look::Absent("this machine lists no interrupts that can be moved".to_owned()),
        (false, true) => Look::AsWanted(kept.to_string()),
        (false, false) => Look::files(sent_to(&near, &kept)),
    }
}

/// A CPU of a PC has not many more vectors for interrupts: arch/x86/include/asm/irq_vectors.h.
const VECTORS: usize = 200;

fn sent_to(interrupts: &Files, kept: &CpuSet) -> Writes {
    let mut writes = interrupts.write(&kept.to_string());
    if interrupts.len() > VECTORS * kept.len() {
        let command = writes.remedy.apply.iter_mut().last();
        command.into_iter().for_each(|command| {
            command.push_str("   # as many as fit: a CPU has about 200 vectors (ENOSPC)")
        });
    }
    writes
}

/// The CPUs that each interrupt may be sent to, of those that can be moved.
pub fn movable(root: &Root) -> Files {
    let table = InterruptCounts::read(root);
    let is_pc = CpuInfo::read(root).field("vendor_id").is_some();
    let can_move = |number: u32| {
        let is_of_pc_itself = is_pc && OF_PC_ITSELF.contains(&number);
        let row = table.row(&number.to_string());
        let is_fixed = row.is_some_and(|row| is_of_each_cpu(&row) || is_managed_queue(row.action));
        !is_of_pc_itself && !is_fixed && root.is_settable(&format!("{INTERRUPTS}/{number}/smp_affinity_list"))
    };
    Files::list(root, INTERRUPTS, "", "smp_affinity_list").numbered(can_move)
}

/// Queues of disks that the kernel has sent to one of the CPUs `apart`, and could as well have sent elsewhere: those of which it spreads
/// each over CPUs of both kinds. `isolcpus=managed_irq` is for them.
///
/// Source: Documentation/admin-guide/kernel-parameters.txt, `isolcpus=`; kernel/irq/manage.c, `irq_do_set_affinity`.
pub fn managed_near(root: &Root, apart: &CpuSet) -> Files {
    let table = InterruptCounts::read(root);
    let is_managed =
        |number: u32| table.row(&number.to_string()).is_some_and(|row| is_managed_queue(row.action));
    let is_mixed = |list: &str| {
        list.parse().is_ok_and(|list: CpuSet| !list.without(apart).is_empty() && list.without(apart) != list)
    };
    let queues = Files::list(root, INTERRUPTS, "", "smp_affinity_list").numbered(is_managed).only(is_mixed);
    handled_by(root, &queues, apart)
}

/// The timer and the cascade of every PC.
const OF_PC_ITSELF: [u32; 2] = [0, 2];
/// Interrupts below are of each CPU by itself: Arm, Generic Interrupt Controller Architecture Specification, private peripherals.
const FIRST_SHARED_OF_ARM: u32 = 32;

/// Timers and counters that each CPU of Arm has, by the names that their drivers give them, whatever their number.
///
/// Source: drivers/clocksource/arm_arch_timer.c; drivers/perf/arm_pmu.c, `IRQF_PERCPU | IRQF_NOBALANCING`.
const OF_EACH_CPU: [&str; 2] = ["arch_timer", "arm-pmu"];

fn is_of_each_cpu(row: &InterruptRow<'_>) -> bool {
    let is_private =
        row.chip.starts_with("GIC") && row.number_at_chip.is_some_and(|one| one < FIRST_SHARED_OF_ARM);
    is_private || row.chip.starts_with("RISC-V") || OF_EACH_CPU.contains(&row.action)
}

/// A queue that the kernel spreads over the CPUs for a driver: of an NVMe disk, after the first one, which is for administration; of RAID
/// controllers; of a virtual disk.
///
/// Source: `PCI_IRQ_AFFINITY` and `struct irq_affinity` in drivers/nvme/host/pci.c, drivers/scsi/{megaraid,mpt3sas,virtio_scsi.c},
/// drivers/block/virtio_blk.c.
fn is_managed_queue(action: &str) -> bool {
    const OTHERS: [(&str, &str); 4] =
        [("megasas", "-msix"), ("mpt3sas", "-msix"), ("mpt2sas", "-msix"), ("virtio", "-req.")];
    let queue = action.strip_prefix("nvme").and_then(|rest| rest.split_once('q')).map(|(_, queue)| queue);
    let is_of_disk = queue.is_some_and(|queue| queue.parse::<u32>().is_ok_and(|queue| queue > 0));
    is_of_disk || OTHERS.iter().any(|(driver, queue)| action.starts_with(driver) && action.contains(queue))
}

/// Those of `interrupts` that one of these CPUs handles. Where it is not said which CPU handles one, it is any that it may be sent to.
/// One that several CPUs of Arm handle is of each of them by itself: its controller sends what is shared to one.
pub fn handled_by(root: &Root, interrupts: &Files, cpus: &CpuSet) -> Files {
    let architecture = Kernel::architecture(root).unwrap_or_default();
    let is_arm = ["aarch64", "arm", "armv7l"].contains(&architecture.as_str());
    let meets = |list: &CpuSet| list.iter().any(|cpu| cpus.contains(cpu));
    let allowed = interrupts.only(|list| list.parse().is_ok_and(|list| meets(&list)));
    allowed.numbered(|number| {
        let handled = read_cpu_list(root, &format!("{INTERRUPTS}/{number}/effective_affinity_list"));
        (handled.is_empty() || meets(&handled)) && !(is_arm && handled.len() > 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;

    #[test]
    fn queues_that_the_kernel_spreads_are_known_by_their_names() {
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
    fn queues_that_could_be_elsewhere_are_those_of_cpus_of_both_kinds() {
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
    fn who_handles_it_counts_and_not_who_may() {
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
