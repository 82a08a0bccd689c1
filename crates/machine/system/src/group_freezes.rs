//! How long control groups were frozen during a measurement.

use std::fmt::Display;

use howlate_model::{Caveat, Span};
use howlate_procfs::{Cgroup, CpuCgroups, Root, SELF, frozen_time};

/// The control groups of howlate and of a process, with their frozen time at the beginning.
#[derive(Debug)]
pub struct GroupFreezes {
    root: Root,
    groups: Vec<FreezableGroup>,
}

/// A control group with a counter of frozen time.
#[derive(Debug)]
struct FreezableGroup {
    /// The followed process; `None` for howlate's own group.
    process: Option<u32>,
    group: Cgroup,
    before: Span,
}

impl GroupFreezes {
    /// Reads the frozen time of howlate's own group.
    pub fn of_own(root: Root) -> Self {
        let groups = read_group(&root, SELF, None).into_iter().collect();
        Self { root, groups }
    }

    /// Howlate's own group and that of the process `process`, if it differs.
    pub fn of(root: Root, process: u32) -> Self {
        let own = read_group(&root, SELF, None);
        let group = read_group(&root, process, Some(process));
        let is_own = |group: &FreezableGroup| own.as_ref().is_some_and(|own| own.group == group.group);
        let group = group.filter(|group| !is_own(group));
        Self { groups: own.into_iter().chain(group).collect(), root }
    }

    /// The groups that were frozen since the beginning.
    pub fn caveats(&self) -> Vec<Caveat> {
        let caveat = |freezable: &FreezableGroup| {
            let frozen_ns = frozen_time(&self.root, &freezable.group)?.minus(freezable.before);
            let group = freezable.group.name().to_owned();
            (!frozen_ns.is_zero()).then_some(Caveat::GroupFrozen {
                process: freezable.process,
                group,
                frozen_ns,
            })
        };
        self.groups.iter().filter_map(caveat).collect()
    }
}

fn read_group(root: &Root, process_id: impl Display, process: Option<u32>) -> Option<FreezableGroup> {
    let group = CpuCgroups::read(root, process_id).v2?;
    let before = frozen_time(root, &group)?;
    Some(FreezableGroup { process, group, before })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(process_group: &str) -> tempfile::TempDir {
        howlate_testing::tree(&[
            ("proc/self/cgroup", "0::/shell\n"),
            ("proc/7/cgroup", process_group),
            ("proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("sys/fs/cgroup/shell/cgroup.stat.local", "frozen_usec 10\n"),
            ("sys/fs/cgroup/app/cgroup.stat.local", "frozen_usec 100\n"),
        ])
    }

    fn freeze(tree: &tempfile::TempDir, group: &str, micros: u64) {
        let file = format!("sys/fs/cgroup/{group}/cgroup.stat.local");
        howlate_testing::write_below(tree.path(), &file, &format!("frozen_usec {micros}\n"));
    }

    #[test]
    fn a_freeze_since_the_beginning_is_a_caveat_with_its_process() {
        let tree = tree("0::/app\n");
        let freezes = GroupFreezes::of(Root::at(tree.path()), 7);
        assert_eq!(freezes.caveats(), [], "it was frozen before only");
        freeze(&tree, "app", 350);
        let frozen = |process, group: &str, micros| Caveat::GroupFrozen {
            process,
            group: group.into(),
            frozen_ns: Span::from_micros(micros),
        };
        assert_eq!(freezes.caveats(), [frozen(Some(7), "/app", 250)]);
        freeze(&tree, "shell", 15);
        assert_eq!(freezes.caveats(), [frozen(None, "/shell", 5), frozen(Some(7), "/app", 250)]);
    }

    #[test]
    fn a_group_of_both_is_reported_once() {
        let tree = tree("0::/shell\n");
        let freezes = GroupFreezes::of(Root::at(tree.path()), 7);
        freeze(&tree, "shell", 20);
        assert_eq!(freezes.caveats().len(), 1);
        assert_eq!(GroupFreezes::of_own(Root::at(tree.path())).caveats(), []);
    }
}
