//! `/sys/devices/system/cpu`: CPU lists and topology.

use howlate_model::CpuSet;

use crate::{Reading, Root};

/// A list of CPUs such as `0-3`; empty when it cannot be read.
pub fn read_cpu_list(root: &Root, path: &str) -> CpuSet {
    root.read(path).ok().and_then(|list| list.parse().ok()).unwrap_or_default()
}

/// Parses a CPU list; some kernels write `(null)` for an empty one.
pub fn parse_cpu_list(list: &Reading) -> Option<CpuSet> {
    list.text()?.trim_matches(['(', ')']).replace("null", "").parse().ok()
}

/// The CPUs of the same core, including `cpu`; empty where unknown. `core_cpus_list` is the newer name of
/// `thread_siblings_list`.
pub fn siblings(root: &Root, cpu: u32) -> CpuSet {
    let read = |name: &str| root.read(&format!("/sys/devices/system/cpu/cpu{cpu}/topology/{name}"));
    let list = read("core_cpus_list").or_else(|_| read("thread_siblings_list"));
    list.ok().and_then(|list| list.parse().ok()).unwrap_or_default()
}

/// The NUMA node of a CPU, from the link `nodeN` in its folder.
pub fn numa_node(root: &Root, cpu: u32) -> Option<u32> {
    let names = root.list(&format!("/sys/devices/system/cpu/cpu{cpu}"));
    names.iter().find_map(|name| name.strip_prefix("node")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_a_name_in_the_folder_of_the_cpu() {
        let tree = tempfile::tempdir().unwrap();
        let cpus = tree.path().join("sys/devices/system/cpu");
        std::fs::create_dir_all(cpus.join("cpu1/node3")).unwrap();
        std::fs::write(cpus.join("online"), "0-1\n").unwrap();
        let root = Root::at(tree.path());
        assert_eq!((numa_node(&root, 1), numa_node(&root, 0)), (Some(3), None));
        assert_eq!(read_cpu_list(&root, "/sys/devices/system/cpu/online").len(), 2);
        assert!(read_cpu_list(&root, "/sys/devices/system/cpu/present").is_empty());
    }
}
