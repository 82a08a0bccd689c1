//! For how long control groups were frozen, while something in them was measured.

use std::fmt::Display;

use howlate_model::{Caveat, Span};
use howlate_procfs::{Cgroup, CpuCgroups, Root, SELF, frozen_time};

/// The group of a process, and of howlate itself, from one moment on.
#[derive(Debug)]
pub struct GroupFreezes {
    root: Root,
    groups: Vec<Frozen>,
}

/// A group that the kernel counts this for.
#[derive(Debug)]
struct Frozen {
    /// Of the program that is watched; `None`: howlate's own.
    process: Option<u32>,
    group: Cgroup,
    before: Span,
}

impl GroupFreezes {
    /// Howlate's own, from now on.
    pub fn of_own(root: Root) -> Self {
        let groups = counted(&root, SELF, None).into_iter().collect();
        Self { root, groups }
    }

    /// The same, and that of the process `process`, where it is another one.
    pub fn of(root: Root, process: u32) -> Self {
        let own = counted(&root, SELF, None);
        let other = counted(&root, process, Some(process));
        let is_own = |other: &Frozen| own.as_ref().is_some_and(|own| own.group == other.group);
        let other = other.filter(|other| !is_own(other));
        Self { groups: own.into_iter().chain(other).collect(), root }
    }

    /// Those that were frozen since.
    pub fn caveats(&self) -> Vec<Caveat> {
        let caveat = |one: &Frozen| {
            let frozen_ns = frozen_time(&self.root, &one.group)?.minus(one.before);
            let group = one.group.name().to_owned();
            (!frozen_ns.is_zero()).then_some(Caveat::GroupFrozen { process: one.process, group, frozen_ns })
        };
        self.groups.iter().filter_map(caveat).collect()
    }
}

fn counted(root: &Root, whose: impl Display, process: Option<u32>) -> Option<Frozen> {
    let group = CpuCgroups::read(root, whose).v2?;
    let before = frozen_time(root, &group)?;
    Some(Frozen { process, group, before })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(of_process: &str) -> tempfile::TempDir {
        howlate_testing::tree(&[
            ("proc/self/cgroup", "0::/shell\n"),
            ("proc/7/cgroup", of_process),
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
    fn what_was_frozen_meanwhile_is_told_and_whose_it_was() {
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
    fn a_group_of_both_is_told_of_once() {
        let tree = tree("0::/shell\n");
        let freezes = GroupFreezes::of(Root::at(tree.path()), 7);
        freeze(&tree, "shell", 20);
        assert_eq!(freezes.caveats().len(), 1);
        assert_eq!(GroupFreezes::of_own(Root::at(tree.path())).caveats(), []);
    }
}
