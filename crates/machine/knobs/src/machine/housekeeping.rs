//! CPUs for the kernel's own work, and CPUs that are to be left alone.

use howlate_model::CpuSet;
use howlate_procfs::{Isolation, Root};

/// The housekeeping CPUs, and the others: those that are isolated, or all but the first, which is also kept where all are
/// isolated: interrupts have to be handled somewhere.
pub fn housekeeping(root: &Root) -> (CpuSet, CpuSet) {
    let isolation = Isolation::read(root);
    let (online, isolated) = (&isolation.online, isolation.separated());
    let others = online.without(&isolated);
    let kept = match isolated.is_empty() || others.is_empty() {
        true => online.iter().take(1).collect(),
        false => others,
    };
    let freed = online.without(&kept);
    (kept, freed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;

    #[track_caller]
    fn check(online: &str, isolated: &str, kept: &str, freed: &str) {
        let folder =
            [("sys/devices/system/cpu/online", online), ("sys/devices/system/cpu/isolated", isolated)];
        let (_folder, root) = tree(&folder);
        let (is_kept, is_freed) = housekeeping(&root);
        assert_eq!((is_kept.to_string(), is_freed.to_string()), (kept.to_owned(), freed.to_owned()));
    }

    #[test]
    fn a_cpu_is_kept_whatever_is_isolated() {
        check("0-3", "2-3", "0-1", "2-3");
        check("0-3", "", "0", "1-3");
        check("0-3", "0-3", "0", "1-3");
        check("2-3", "2-3", "2", "3");
    }
}
