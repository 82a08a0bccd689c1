//! Which core can be spared best.
//!
//! Source: Documentation/admin-guide/cpu-isolation.rst: a CPU whose sibling works for others is not left alone.

use std::cmp::Reverse;

use howlate_model::CpuSet;
use howlate_procfs::{Root, read_cpu_list, siblings};

/// All CPUs of the last core, of those of the quickest kind, but never the first CPU's. `None` where there is no other core.
pub fn core_to_isolate(root: &Root) -> Option<CpuSet> {
    cores_to_spare(root).into_iter().next()
}

/// Cores that can be spared, the best first: all but the one of the first CPU, which handles what has to be handled somewhere.
pub fn cores_to_spare(root: &Root) -> Vec<CpuSet> {
    let online = read_cpu_list(root, "/sys/devices/system/cpu/online");
    let Some(first) = online.iter().next() else { return Vec::new() };
    let of_big_kind = read_cpu_list(root, "/sys/devices/cpu_core/cpus");
    let quickness = |cpu: u32| {
        let capacity = root.reading(format!("/sys/devices/system/cpu/cpu{cpu}/cpu_capacity")).number::<u64>();
        (capacity, of_big_kind.contains(cpu), cpu)
    };
    let core_of = |cpu: u32| -> CpuSet {
        let all = siblings(root, cpu);
        let online: CpuSet = all.iter().filter(|cpu| online.contains(*cpu)).collect();
        if online.is_empty() { std::iter::once(cpu).collect() } else { online }
    };
    let mut cores: Vec<CpuSet> = Vec::new();
    let mut all: Vec<u32> = online.iter().collect();
    all.sort_by_key(|cpu| Reverse(quickness(*cpu)));
    for core in all.into_iter().map(core_of).filter(|core| !core.contains(first)) {
        if !cores.contains(&core) {
            cores.push(core);
        }
    }
    cores
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;

    /// Of so many CPUs, whose siblings and other files are these.
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
