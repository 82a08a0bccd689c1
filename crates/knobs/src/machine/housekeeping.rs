//! CPUs for the kernel's own work, and CPUs that are to be left alone.

use howlate_model::CpuSet;
use howlate_procfs::{Root, list_of_cpus};

/// The housekeeping CPUs, and the others: those that are isolated, or all but the first.
pub(super) fn housekeeping(root: &Root) -> (CpuSet, CpuSet) {
    let online = list_of_cpus(root, "/sys/devices/system/cpu/online");
    let isolated = list_of_cpus(root, "/sys/devices/system/cpu/isolated");
    let kept = match isolated.is_empty() {
        true => online.iter().take(1).collect(),
        false => online.without(&isolated),
    };
    let freed = online.without(&kept);
    (kept, freed)
}
