//! Which CPUs handle interrupts.

use howlate_knobs::irq_affinity::{handled_by, movable};
use howlate_knobs::{boot_remedy, housekeeping, tuning_daemons};
use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{CommandLine, Isolation, Root};

use super::draft::{Draft, finding};

const WHY: &str =
    "An interrupt handler runs ahead of every thread, and a wake-up on its CPU has to wait for it.";

/// Only those that can be moved: the others are where they have to be.
pub(super) fn examine(root: &Root) -> Option<Finding> {
    let (isolation, movable) = (Isolation::read(root), movable(root));
    let apart = isolation.apart();
    if movable.is_empty() || isolation.online.len() < 2 {
        return None;
    }
    let draft = if apart.is_empty() {
        // Without isolated CPUs there is no place to keep free; the count is worth knowing.
        let is_free = |list: &str| list.parse().is_ok_and(|list| isolation.online.without(&list).is_empty());
        let free = movable.only(is_free);
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
        let (is_clear, all, words) = (near.is_empty(), movable.len(), isolation.apart_in_words());
        let (verdict, found) = match is_clear {
            true => (Verdict::Good, format!("none of {all} interrupts that can be moved comes to {words}")),
            false => {
                let what = if near.len() == 1 { "interrupts comes" } else { "interrupts come" };
                let found = format!("{} of {all} {what} to {words}: {}", near.len(), near.numbers());
                (Verdict::Costs, found)
            }
        };
        let draft = finding(FindingId::InterruptAffinity, verdict, found).examples(if is_clear {
            &movable
        } else {
            &near
        });
        draft.when(!is_clear, |draft| sent_away(root, draft))
    };
    Some(draft.seen(&root.reading("/proc/irq/default_smp_affinity")).why(WHY).end())
}

/// To the CPUs that keep house. What moves them back comes to a stop before; for good they begin there: their numbers change from start
/// to start.
fn sent_away(root: &Root, draft: Draft) -> Draft {
    let is_balanced = tuning_daemons::at_work(root).contains(&"irqbalance");
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
