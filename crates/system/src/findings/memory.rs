//! What the kernel does to memory behind a program's back.

use howlate_knobs::{numa_balancing, swappiness, transparent_huge_pages};
use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{Root, chosen, list_of_cpus};

use super::draft::{Draft, finding};

/// Whether every program's memory is merged into huge pages.
///
/// Source: `Documentation/admin-guide/mm/transhuge.rst`.
pub(super) fn huge_pages(root: &Root) -> Option<Finding> {
    let reading = root.reading(transparent_huge_pages::FILE);
    let choice = chosen(reading.text()?)?.to_owned();
    let always = choice == "always";
    let verdict = if always { Verdict::Costs } else { Verdict::Good };
    let found = format!("transparent huge pages: {choice}");
    let draft = finding(FindingId::TransparentHugePages, verdict, found)
        .seen(&reading)
        .seen(&root.reading("/sys/kernel/mm/transparent_hugepage/defrag"))
        .why(
            "With `always` the kernel copies small pages together and may compact memory during a page \
            fault; threads that touch that memory meanwhile wait. With `madvise` only programs that ask are \
            affected.",
        );
    Some(draft.when(always, |draft| draft.turn(root, "transparent_huge_pages")).end())
}

/// Whether memory can be written to disk and must be fetched again.
pub(super) fn swap(root: &Root) -> Option<Finding> {
    let swaps = root.reading("/proc/swaps");
    let areas: Vec<&str> =
        swaps.text()?.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    let none = areas.is_empty();
    let found = if none {
        "there is no swap".to_owned()
    } else {
        format!("memory can be swapped out to {}", areas.join(", "))
    };
    let verdict = if none { Verdict::Good } else { Verdict::Note };
    let draft =
        finding(FindingId::Swap, verdict, found).seen(&swaps).seen(&root.reading(swappiness::FILE)).why(
            "A page that was swapped out is read back when it is touched, and the thread waits. Locked \
            memory (mlockall) stays.",
        );
    let on = areas.iter().map(|area| format!("sudo swapon {area}"));
    let mend = |draft: Draft| on.fold(draft.apply("sudo swapoff -a"), Draft::undo);
    Some(draft.when(!none, mend).end())
}

/// Whether pages are unmapped now and then to learn who uses them.
pub(super) fn numa_balancing(root: &Root) -> Option<Finding> {
    let nodes = list_of_cpus(root, "/sys/devices/system/node/online");
    let reading = root.reading(numa_balancing::FILE);
    let now = reading.text().filter(|_| nodes.len() > 1)?.to_owned();
    let on = now != "0";
    let verdict = if on { Verdict::Costs } else { Verdict::Good };
    let found = if on { "NUMA balancing is on" } else { "NUMA balancing is off" };
    let draft = finding(FindingId::NumaBalancing, verdict, found).seen(&reading).why(
        "To find out which node uses a page, the kernel unmaps it; the next access takes a page fault, \
            and the page may be copied.",
    );
    Some(draft.when(on, |draft| draft.turn(root, "numa_balancing")).end())
}
