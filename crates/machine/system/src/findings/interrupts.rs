//! Which CPUs handle interrupts.

use crate::settings::{NumberedFiles, boot_remedy, housekeeping, tuning_daemons};
use crate::settings::{handled_by, managed_near, movable};
use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{CommandLine, Isolation, Kernel, Root};

use super::draft::{FindingDraft, finding};

const WHY: &str =
    "An interrupt handler runs ahead of every thread, and a wake-up on its CPU has to wait for it.";

/// Only interrupts whose affinity can be changed are counted.
pub(super) fn examine(root: &Root) -> Option<Finding> {
    let (isolation, movable) = (Isolation::read(root), movable(root));
    let separated = isolation.separated();
    if movable.is_empty() || isolation.online.len() < 2 {
        return None;
    }
    let draft = if separated.is_empty() {
        // Without isolated CPUs there is nothing to keep free; only the count is shown.
        let is_free = |list: &str| list.parse().is_ok_and(|list| isolation.online.without(&list).is_empty());
        let free = movable.filter_values(is_free);
        let found = format!("{} of {} interrupts may be sent to any CPU", free.len(), movable.len());
        let draft = finding(FindingId::InterruptAffinity, Verdict::Note, found).examples(&free);
        let first = isolation.online.iter().next().unwrap_or(0);
        draft
            .apply(format!(
                "send the one that makes a thread late away from the CPU of that thread: `grep NAME /proc/interrupts` tells its number N, \
                 `echo {first} | sudo tee /proc/irq/N/smp_affinity_list` moves it to CPU {first}"
            ))
            .undo(format!("`echo {} | sudo tee /proc/irq/N/smp_affinity_list`", isolation.online))
    } else {
        let near = handled_by(root, &movable, &separated);
        let (none_near, count, description) =
            (near.is_empty(), movable.len(), isolation.describe_separated());
        let managed = avoidable_queues(root, &isolation);
        let (verdict, found) = match none_near {
            true => {
                let verdict = if managed.is_empty() { Verdict::Good } else { Verdict::Costs };
                (verdict, format!("none of {count} interrupts that can be moved comes to {description}"))
            }
            false => {
                let what = if near.len() == 1 { "interrupts comes" } else { "interrupts come" };
                let found = format!("{} of {count} {what} to {description}: {}", near.len(), near.numbers());
                (Verdict::Costs, found)
            }
        };
        let found = match managed.len() {
            0 => found,
            1 => format!("{found}; that of one disk's queue does, which only the kernel moves"),
            many => format!("{found}; those of {many} disks' queues do, which only the kernel moves"),
        };
        let shown = [&managed, &near, &movable].into_iter().find(|files| !files.is_empty());
        let draft = finding(FindingId::InterruptAffinity, verdict, found).examples(shown.unwrap_or(&movable));
        draft
            .when(!none_near, |draft| move_away(root, draft))
            .when(!managed.is_empty(), |draft| set_managed_irq(root, draft, &isolation))
    };
    Some(draft.evidence(&root.reading("/proc/irq/default_smp_affinity")).why(WHY).finish())
}

/// Moves them to the house-keeping CPUs, after stopping irqbalance, which would move them back. The lasting form is `irqaffinity=`, since
/// interrupt numbers change from boot to boot.
fn move_away(root: &Root, draft: FindingDraft) -> FindingDraft {
    let is_balanced = tuning_daemons::running(root).contains(&"irqbalance");
    let draft = draft
        .when(is_balanced, |draft| draft.apply("sudo systemctl stop irqbalance   # it may move them again"));
    let draft = draft.temporary_setting(root, "irq_affinity");
    let draft = draft.when(is_balanced, |draft| draft.undo("sudo systemctl start irqbalance"));
    if CommandLine::read(root).has("irqaffinity") {
        return draft;
    }
    let (housekeeping_cpus, _) = housekeeping(root);
    boot_remedy(root, &format!("irqaffinity={housekeeping_cpus}"))
        .apply
        .into_iter()
        .fold(draft, FindingDraft::lasting)
}

/// Managed interrupts of disk queues on isolated CPUs that `isolcpus=managed_irq` would keep away.
fn avoidable_queues(root: &Root, isolation: &Isolation) -> NumberedFiles {
    let managed = managed_near(root, &isolation.separated());
    let cannot_avoid = has_managed_irq(root) || Kernel::read(root).at_least(5, 6) == Some(false);
    if cannot_avoid { managed.filter_numbers(|_| false) } else { managed }
}

fn has_managed_irq(root: &Root) -> bool {
    let line = CommandLine::read(root);
    line.value("isolcpus").is_some_and(|value| value.split(',').any(|word| word == MANAGED_IRQ))
}

/// The flag of `isolcpus=` that keeps managed interrupts away, since Linux 5.6.
const MANAGED_IRQ: &str = "managed_irq";

fn set_managed_irq(root: &Root, draft: FindingDraft, isolation: &Isolation) -> FindingDraft {
    let line = CommandLine::read(root);
    let Some(before) = line.value("isolcpus") else {
        return draft.kernel_parameter(root, &format!("isolcpus={MANAGED_IRQ},{}", isolation.separated()));
    };
    // `domain` is the default only without any flag.
    let has_flags = before.starts_with(|first: char| first.is_ascii_alphabetic());
    let flags = if has_flags { MANAGED_IRQ.to_owned() } else { format!("domain,{MANAGED_IRQ}") };
    let after = format!("{flags},{before}");
    let replace = |new: &str, old: &str| {
        format!("write `isolcpus={new}` instead of `isolcpus={old}` on the kernel's command line and restart")
    };
    draft.apply(replace(&after, before)).undo(replace(before, &after))
}
