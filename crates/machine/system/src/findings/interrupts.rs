//! Which CPUs handle interrupts.

use crate::settings::{NumberedFiles, boot_remedy, housekeeping, tuning_daemons};
use crate::settings::{handled_by, managed_near, movable};
use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{CommandLine, Isolation, Kernel, Root};

use super::draft::{Draft, finding};

const WHY: &str =
    "An interrupt handler runs ahead of every thread, and a wake-up on its CPU has to wait for it.";

/// Only those that can be moved: the others are where they have to be.
pub(super) fn examine(root: &Root) -> Option<Finding> {
    let (isolation, movable) = (Isolation::read(root), movable(root));
    let apart = isolation.separated();
    if movable.is_empty() || isolation.online.len() < 2 {
        return None;
    }
    let draft = if apart.is_empty() {
        // Without isolated CPUs there is no place to keep free; the count is worth knowing.
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
        let near = handled_by(root, &movable, &apart);
        let (is_clear, all, words) = (near.is_empty(), movable.len(), isolation.describe_separated());
        let managed = avoidable_queues(root, &isolation);
        let (verdict, found) = match is_clear {
            true => {
                let verdict = if managed.is_empty() { Verdict::Good } else { Verdict::Costs };
                (verdict, format!("none of {all} interrupts that can be moved comes to {words}"))
            }
            false => {
                let what = if near.len() == 1 { "interrupts comes" } else { "interrupts come" };
                let found = format!("{} of {all} {what} to {words}: {}", near.len(), near.numbers());
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
            .when(!is_clear, |draft| sent_away(root, draft))
            .when(!managed.is_empty(), |draft| kept_away(root, draft, &isolation))
    };
    Some(draft.seen(&root.reading("/proc/irq/default_smp_affinity")).why(WHY).end())
}

/// To the CPUs that keep house. What moves them back comes to a stop before; for good they begin there: their numbers change from start
/// to start.
fn sent_away(root: &Root, draft: Draft) -> Draft {
    let is_balanced = tuning_daemons::running(root).contains(&"irqbalance");
    let draft = draft
        .when(is_balanced, |draft| draft.apply("sudo systemctl stop irqbalance   # it may move them again"));
    let draft = draft.turn_for_now(root, "irq_affinity");
    let draft = draft.when(is_balanced, |draft| draft.undo("sudo systemctl start irqbalance"));
    if CommandLine::read(root).has("irqaffinity") {
        return draft;
    }
    let (kept, _) = housekeeping(root);
    boot_remedy(root, &format!("irqaffinity={kept}")).apply.into_iter().fold(draft, Draft::lasting)
}

/// Queues of disks that come to CPUs that are set apart, and need not: nobody has told the kernel to keep them away.
fn avoidable_queues(root: &Root, isolation: &Isolation) -> NumberedFiles {
    let managed = managed_near(root, &isolation.separated());
    let is_told = flag_is_set(root) || Kernel::read(root).at_least(5, 6) == Some(false);
    if is_told { managed.filter_numbers(|_| false) } else { managed }
}

fn flag_is_set(root: &Root) -> bool {
    let line = CommandLine::read(root);
    line.value("isolcpus").is_some_and(|value| value.split(',').any(|word| word == FLAG))
}

/// By which the kernel keeps them away: since Linux 5.6.
const FLAG: &str = "managed_irq";

fn kept_away(root: &Root, draft: Draft, isolation: &Isolation) -> Draft {
    let line = CommandLine::read(root);
    let Some(before) = line.value("isolcpus") else {
        return draft.boot(root, &format!("isolcpus={FLAG},{}", isolation.separated()));
    };
    // Without a flag it is `domain` that is meant, and with another one no longer.
    let has_flags = before.starts_with(|first: char| first.is_ascii_alphabetic());
    let flags = if has_flags { FLAG.to_owned() } else { format!("domain,{FLAG}") };
    let after = format!("{flags},{before}");
    let write = |one: &str, other: &str| {
        format!(
            "write `isolcpus={one}` instead of `isolcpus={other}` on the kernel's command line and restart"
        )
    };
    draft.apply(write(&after, before)).undo(write(before, &after))
}
