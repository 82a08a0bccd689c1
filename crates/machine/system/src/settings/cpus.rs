//! Housekeeping CPUs, and cores that can be isolated.

use std::cmp::Reverse;

use howlate_model::CpuSet;
use howlate_procfs::{Isolation, Root, read_cpu_list, siblings};

/// The housekeeping CPUs, and all others: the isolated ones, or all but the first CPU. The first is always a housekeeping CPU:
/// interrupts have to be handled somewhere.
pub(crate) fn housekeeping(root: &Root) -> (CpuSet, CpuSet) {
    let isolation = Isolation::read(root);
    let (online, isolated) = (&isolation.online, isolation.separated());
    let not_isolated = online.without(&isolated);
    let housekeeping = match isolated.is_empty() || not_isolated.is_empty() {
        true => online.iter().take(1).collect(),
        false => not_isolated,
    };
    let freed = online.without(&housekeeping);
    (housekeeping, freed)
}

/// All CPUs of the last of the fastest cores, never the first CPU's. `None` with a single core.
///
/// Source: Documentation/admin-guide/cpu-isolation.rst: a CPU is not undisturbed while its sibling works.
pub(crate) fn core_to_isolate(root: &Root) -> Option<CpuSet> {
    cores_to_isolate(root).into_iter().next()
}

/// Cores that can be isolated, the best first: all but the one of the first CPU.
pub(crate) fn cores_to_isolate(root: &Root) -> Vec<CpuSet> {
    let online = read_cpu_list(root, "/sys/devices/system/cpu/online");
    let Some(first) = online.iter().next() else { return Vec::new() };
    let performance_cpus = read_cpu_list(root, "/sys/devices/cpu_core/cpus");
    let speed = |cpu: u32| {
        let capacity = root.reading(format!("/sys/devices/system/cpu/cpu{cpu}/cpu_capacity")).number::<u64>();
        (capacity, performance_cpus.contains(cpu), cpu)
    };
    let core_of = |cpu: u32| -> CpuSet {
        let online: CpuSet = siblings(root, cpu).iter().filter(|cpu| online.contains(*cpu)).collect();
        if online.is_empty() { std::iter::once(cpu).collect() } else { online }
    };
    let mut cores: Vec<CpuSet> = Vec::new();
    let mut fastest_first: Vec<u32> = online.iter().collect();
    fastest_first.sort_by_key(|cpu| Reverse(speed(*cpu)));
    for core in fastest_first.into_iter().map(core_of).filter(|core| !core.contains(first)) {
        if !cores.contains(&core) {
            cores.push(core);
        }
    }
    cores
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::testing::tree;

    #[track_caller]
    fn check(online: &str, isolated: &str, housekeeping_cpus: &str, freed: &str) {
        let folder =
            [("sys/devices/system/cpu/online", online), ("sys/devices/system/cpu/isolated", isolated)];
        let (_folder, root) = tree(&folder);
        let found = housekeeping(&root);
        assert_eq!(
            (found.0.to_string(), found.1.to_string()),
            (housekeeping_cpus.to_owned(), freed.to_owned())
        );
    }

    #[test]
    fn a_cpu_is_kept_whatever_is_isolated() {
        check("0-3", "2-3", "0-1", "2-3");
        check("0-3", "", "0", "1-3");
        check("0-3", "0-3", "0", "1-3");
        check("2-3", "2-3", "2", "3");
    }

    /// The choice on a machine with CPUs 0 to `last`.
    fn chosen(last: u32, siblings: impl Fn(u32) -> String, more: &[(&str, &str)]) -> Option<String> {
        let online = format!("0-{last}\n");
        let lists: Vec<(String, String)> = (0..=last)
            .map(|cpu| (format!("/sys/devices/system/cpu/cpu{cpu}/topology/core_cpus_list"), siblings(cpu)))
            .collect();
        let mut files: Vec<(&str, &str)> =
            lists.iter().map(|(path, list)| (path.as_str(), list.as_str())).collect();
        files.push(("/sys/devices/system/cpu/online", &online));
        files.extend(more);
        core_to_isolate(&tree(&files).1).map(|core| core.to_string())
    }

    #[test]
    fn a_whole_core_of_the_quick_kind_is_taken_and_never_the_first() {
        let hybrid = |cpu: u32| if cpu < 4 { format!("{}-{}", cpu & !1, cpu | 1) } else { cpu.to_string() };
        let kinds = [("/sys/devices/cpu_core/cpus", "0-3\n"), ("/sys/devices/cpu_atom/cpus", "4-7\n")];
        assert_eq!(chosen(7, hybrid, &kinds).as_deref(), Some("2-3"));
        let apart = |cpu: u32| format!("{},{}", cpu % 4, cpu % 4 + 4);
        assert_eq!(chosen(7, apart, &[]).as_deref(), Some("3,7"));
        let little_last = [
            ("/sys/devices/system/cpu/cpu1/cpu_capacity", "1024"),
            ("/sys/devices/system/cpu/cpu2/cpu_capacity", "1024"),
            ("/sys/devices/system/cpu/cpu3/cpu_capacity", "430"),
        ];
        assert_eq!(chosen(3, |cpu| cpu.to_string(), &little_last).as_deref(), Some("2"));
    }

    #[test]
    fn the_only_core_is_not_taken_apart() {
        assert_eq!(chosen(1, |_| "0-1".to_owned(), &[]), None);
        assert_eq!(chosen(0, |_| "0".to_owned(), &[]), None);
        assert_eq!(chosen(3, |_| String::new(), &[]).as_deref(), Some("3"));
    }
}
