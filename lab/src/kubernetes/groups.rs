//! The control groups of pods: all that a kubelet leaves on a machine when its namespaces are gone.

use std::fs;
use std::path::{Path, PathBuf};

/// Below each controller of cgroup v1, and below the only one of v2; of kubelets that leave groups to systemd, the second.
const PODS: [&str; 2] = ["kubepods", "kubepods.slice"];

/// The groups of a kubelet that runs here, or was left behind.
pub(super) fn all(root: &Path) -> Vec<PathBuf> {
    let controllers = fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path());
    let roots: Vec<PathBuf> = controllers.chain([root.to_owned()]).collect();
    let all = roots.iter().flat_map(|root| PODS.map(|name| root.join(name)));
    all.filter(|group| group.is_dir()).collect()
}

/// Removes a group and those in it, as far as they are empty.
pub(super) fn remove(group: &Path) {
    for entry in fs::read_dir(group).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove(&entry.path());
        }
    }
    drop(fs::remove_dir(group));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_found_below_each_controller_and_removed_when_empty() {
        let root = tempfile::tempdir().unwrap();
        for group in ["cpu/kubepods/besteffort", "kubepods.slice", "memory/other"] {
            fs::create_dir_all(root.path().join(group)).unwrap();
        }
        let found = all(root.path());
        assert_eq!(found.len(), 2, "{found:?}");
        fs::write(root.path().join("kubepods.slice/tasks"), "1").unwrap();
        found.iter().for_each(|group| remove(group));
        assert_eq!(all(root.path()), [root.path().join("kubepods.slice")]);
    }
}
