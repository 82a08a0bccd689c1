//! Which CPUs interrupts may be sent to.

use howlate_knobs::{Files, irq_affinity};
use howlate_model::{CpuSet, Finding, FindingId, Verdict};
use howlate_procfs::{Root, list_of_cpus};

use super::draft::{Draft, finding};
use super::isolation::{ISOLATED, cpus};

const WHY: &str =
    "An interrupt handler runs ahead of every thread, and a wake-up on its CPU has to wait for it.";

pub(super) fn examine(root: &Root) -> Option<Finding> {
    let interrupts = irq_affinity::interrupts(root);
    let online = list_of_cpus(root, "/sys/devices/system/cpu/online");
    if interrupts.is_empty() || online.len() < 2 {
        return None;
    }
    let isolated = cpus(&root.reading(ISOLATED)).unwrap_or_default();
    let draft =
        if isolated.is_empty() { anywhere(&interrupts, &online) } else { near(root, &interrupts, &isolated) };
    Some(draft.seen(&root.reading("/proc/irq/default_smp_affinity")).why(WHY).end())
}

fn meets(list: &str, cpus: &CpuSet) -> bool {
    list.parse().is_ok_and(|list: CpuSet| list.iter().any(|cpu| cpus.contains(cpu)))
}

/// Without isolated CPUs there is no place to keep free; the count is worth knowing.
fn anywhere(interrupts: &Files, online: &CpuSet) -> Draft {
    let free =
        interrupts.only(|list| list.parse().is_ok_and(|list: CpuSet| online.without(&list).is_empty()));
    let found = format!("{} of {} interrupts may be sent to any CPU", free.len(), interrupts.len());
    finding(FindingId::InterruptAffinity, Verdict::Note, found).examples(&free)
}

fn near(root: &Root, interrupts: &Files, isolated: &CpuSet) -> Draft {
    let close = interrupts.only(|list| meets(list, isolated));
    if close.is_empty() {
        let found =
            format!("none of {} interrupts may be sent to the isolated CPUs {isolated}", interrupts.len());
        return finding(FindingId::InterruptAffinity, Verdict::Good, found).examples(interrupts);
    }
    let found = format!(
        "{} of {} interrupts may be sent to the isolated CPUs {isolated}: {}",
        close.len(),
        interrupts.len(),
        close.names()
    );
    let draft = finding(FindingId::InterruptAffinity, Verdict::Costs, found).examples(&close);
    // Interrupts that the kernel manages for a device answer EIO and stay where they are.
    draft.turn(root, "irq_affinity")
}
