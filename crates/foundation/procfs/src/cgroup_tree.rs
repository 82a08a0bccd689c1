//! The control groups of the unified hierarchy, by the kernel's numbers.

use std::collections::HashMap;

use crate::{Mounts, Root};

/// Deeper ones are not looked for.
const DEEPEST: usize = 32;

impl Root {
    /// The path of each group below the mount, by its number: that of its folder. Empty where there is no such hierarchy.
    ///
    /// Source: `Documentation/admin-guide/cgroup-v2.rst`; the number is what `bpf_get_current_cgroup_id` tells.
    pub fn cgroup_paths(&self) -> HashMap<u64, String> {
        let mounts = Mounts::read(self);
        let Some(mount) = mounts.find(|mount| mount.kind == "cgroup2") else { return HashMap::new() };
        let mut found = HashMap::new();
        if let Some(number) = self.number(&mount.point) {
            found.insert(number, "/".to_owned());
        }
        self.groups_below(&mount.point, "", 0, &mut found);
        found
    }

    fn groups_below(&self, top: &str, path: &str, depth: usize, found: &mut HashMap<u64, String>) {
        if depth > DEEPEST {
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
    fn each_group_is_found_by_the_number_of_its_folder() {
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
