//! Memory management in the background.

use crate::settings::tunable::{Probe, Tunable};
use howlate_model::SettingScope;
use howlate_procfs::{Root, bracketed_choice};

/// Pages are unmapped periodically to find the NUMA node that uses them.
///
/// Source: Documentation/admin-guide/sysctl/kernel.rst.
pub(crate) const NUMA_BALANCING: Tunable = Tunable {
    name: "numa_balancing",
    scope: SettingScope::Machine,
    what: "pages are not unmapped to find out who uses them",
    cost: "memory stays on the node where it was first touched",
    probe: |root| Probe::file(root, NUMA_BALANCING_FILE, "0"),
    permanent: &[],
};

pub(crate) const NUMA_BALANCING_FILE: &str = "/proc/sys/kernel/numa_balancing";

/// Identical pages are merged, and copied again when written to (KSM).
///
/// Source: Documentation/admin-guide/mm/ksm.rst.
pub(crate) const SAME_PAGE_MERGING: Tunable = Tunable {
    name: "same_page_merging",
    scope: SettingScope::Machine,
    what: "identical pages are not merged",
    cost: "more memory is used, mostly by virtual machines",
    probe: |root| Probe::file(root, SAME_PAGE_MERGING_FILE, "0"),
    permanent: &[],
};

pub(crate) const SAME_PAGE_MERGING_FILE: &str = "/sys/kernel/mm/ksm/run";

/// Whether small pages of every program are collapsed into huge pages.
///
/// Source: Documentation/admin-guide/mm/transhuge.rst.
pub(crate) const TRANSPARENT_HUGE_PAGES: Tunable = Tunable {
    name: "transparent_huge_pages",
    scope: SettingScope::Machine,
    what: "huge pages only for programs that ask for them",
    cost: "programs that use a lot of memory and do not ask run more slowly",
    probe: probe_transparent_huge_pages,
    permanent: &[],
};

pub(crate) const TRANSPARENT_HUGE_PAGES_FILE: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

fn probe_transparent_huge_pages(root: &Root) -> Probe {
    // `never` disturbs even less, and is left as it is.
    match root.read(TRANSPARENT_HUGE_PAGES_FILE).ok().as_deref().and_then(bracketed_choice) {
        Some(mode @ ("madvise" | "never")) => Probe::AsWanted(mode.to_owned()),
        _ => Probe::file(root, TRANSPARENT_HUGE_PAGES_FILE, "madvise"),
    }
}

/// Memory is compacted in the background, so that huge pages can be allocated.
///
/// Source: Documentation/admin-guide/sysctl/vm.rst.
pub(crate) const COMPACTION: Tunable = Tunable {
    name: "compaction",
    scope: SettingScope::Machine,
    what: "no memory compaction in the background",
    cost: "huge pages are harder to get",
    probe: |root| Probe::file(root, "/proc/sys/vm/compaction_proactiveness", "0"),
    permanent: &[],
};

/// How readily program memory is swapped out.
///
/// Source: Documentation/admin-guide/sysctl/vm.rst.
pub(crate) const SWAPPINESS: Tunable = Tunable {
    name: "swappiness",
    scope: SettingScope::Machine,
    what: "programs' memory is swapped out last",
    cost: "less memory for the file cache",
    probe: |root| Probe::file(root, SWAPPINESS_FILE, "0"),
    permanent: &[],
};

pub(crate) const SWAPPINESS_FILE: &str = "/proc/sys/vm/swappiness";

/// Interval in seconds at which a worker on each CPU folds memory counters.
///
/// Source: Documentation/admin-guide/sysctl/vm.rst.
pub(crate) const STAT_INTERVAL: Tunable = Tunable {
    name: "stat_interval",
    scope: SettingScope::Machine,
    what: "memory statistics are gathered only every two minutes",
    cost: "figures such as those in /proc/meminfo are less up to date",
    probe: |root| Probe::file(root, "/proc/sys/vm/stat_interval", "120"),
    permanent: &[],
};
