//! Paths of the control groups of the unified hierarchy by cgroup id.

use std::collections::HashMap;

use crate::{Mounts, Root};

/// Deeper groups are not searched.
const MAX_DEPTH: usize = 32;

impl Root {
    /// Path of each group below the mount by cgroup id, which is the inode number of its folder. Empty without cgroup v2.
    ///
    /// Source: `Documentation/admin-guide/cgroup-v2.rst`; the id is that of `bpf_get_current_cgroup_id`.
    pub fn cgroup_paths(&self) -> HashMap<u64, String> {
        let mounts = Mounts::read(self);
        let Some(mount) = mounts.find(|mount| mount.kind == "cgroup2") else { return HashMap::new() };
        let mut found = HashMap::new();
        if let Some(number) = self.inode_number(&mount.point) {
            found.insert(number, "/".to_owned());
        }
        self.groups_below(&mount.point, "", 0, &mut found);
        found
    }

    fn groups_below(&self, top: &str, path: &str, depth: usize, found: &mut HashMap<u64, String>) {
        if depth > MAX_DEPTH {
            return;
        }
        for (name, number) in self.directories(&format!("{top}{path}")) {
            let path = format!("{path}/{name}");
            self.groups_below(top, &path, depth + 1, found);
            found.insert(number, path);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::tree;

    #[test]
    fn each_group_is_found_by_its_inode_number() {
        let mounts = "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
        let (folder, root) = tree(&[
            ("/proc/self/mountinfo", mounts),
            ("/sys/fs/cgroup/system.slice/nginx.service/cgroup.procs", ""),
        ]);
        let number = |path: &str| {
            let found = std::fs::metadata(folder.path().join("sys/fs/cgroup").join(path)).unwrap();
            std::os::unix::fs::MetadataExt::ino(&found)
        };
        let paths = root.cgroup_paths();
        assert_eq!(paths[&number("")], "/");
        assert_eq!(paths[&number("system.slice/nginx.service")], "/system.slice/nginx.service");
        assert_eq!(paths.len(), 3);
    }
}
