//! `/sys/devices/system/cpu`: which CPUs there are, and where they sit.

use howlate_model::CpuSet;

use crate::{Reading, Root};

/// A list of CPUs such as `0-3`; empty when it cannot be read.
pub fn list_of_cpus(root: &Root, path: &str) -> CpuSet {
    root.read(path).ok().and_then(|list| list.parse().ok()).unwrap_or_default()
}

/// A list of CPUs that was read; some kernels write `(null)` for an empty one.
pub fn cpus_of(list: &Reading) -> Option<CpuSet> {
    list.text()?.trim_matches(['(', ')']).replace("null", "").parse().ok()
}

/// The CPUs of the same core, itself among them; none where it is not said. `core_cpus_list` is the newer name of
/// `thread_siblings_list`.
pub fn siblings(root: &Root, cpu: u32) -> CpuSet {
    let read = |name: &str| root.read(&format!("/sys/devices/system/cpu/cpu{cpu}/topology/{name}"));
    let list = read("core_cpus_list").or_else(|_| read("thread_siblings_list"));
    list.ok().and_then(|list| list.parse().ok()).unwrap_or_default()
}

/// The NUMA node of a CPU, known by a link in its folder: `node0`.
pub fn node_of(root: &Root, cpu: u32) -> Option<u32> {
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
        assert_eq!((node_of(&root, 1), node_of(&root, 0)), (Some(3), None));
        assert_eq!(list_of_cpus(&root, "/sys/devices/system/cpu/online").len(), 2);
        assert!(list_of_cpus(&root, "/sys/devices/system/cpu/present").is_empty());
    }
}
