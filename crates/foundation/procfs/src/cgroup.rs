//! The control groups that control a process's CPU time, and where their files are.

use std::fmt::Display;

use crate::{CgroupMembership, Mounts, Root};

/// The hierarchy that a group belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CgroupVersion {
    /// One hierarchy for each controller: cgroup v1.
    One,
    /// The unified hierarchy: cgroup v2.
    Two,
}

/// A group in a hierarchy that controls CPU time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cgroup {
    pub version: CgroupVersion,
    /// Mount point of the hierarchy.
    pub mount: String,
    /// Path below the mount point; empty for the root group.
    path: String,
}

impl Cgroup {
    /// The file `name` of this group.
    pub fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.folder())
    }

    /// The group's folder.
    pub fn folder(&self) -> String {
        format!("{}{}", self.mount, self.path)
    }

    /// This group and its ancestors up to the mount point.
    pub fn upwards(&self) -> Vec<Self> {
        let mut groups = vec![self.clone()];
        let mut path = self.path.as_str();
        while let Some((parent, _)) = path.rsplit_once('/') {
            groups.push(Self { path: parent.to_owned(), ..self.clone() });
            path = parent;
        }
        groups
    }

    /// Path for display: `/` for the root group.
    pub fn name(&self) -> &str {
        if self.path.is_empty() { "/" } else { &self.path }
    }
}

/// The groups that control the CPU time of one process, in both hierarchies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuCgroups {
    /// In the `cpu` hierarchy of cgroup v1.
    pub v1: Option<Cgroup>,
    /// In the unified hierarchy.
    pub v2: Option<Cgroup>,
}

impl CpuCgroups {
    pub fn read(root: &Root, process: impl Display) -> Self {
        let (membership, mounts) = (CgroupMembership::read(root, process), Mounts::read(root));
        let v1 = mounts.find(|mount| mount.kind == "cgroup" && mount.has_option("cpu"));
        let v2 = mounts.find(|mount| mount.kind == "cgroup2");
        let group = |version, path: Option<&str>, mount: Option<&crate::Mount>| {
            let (path, mount) = path.zip(mount)?;
            Some(Cgroup { version, mount: mount.point.clone(), path: below(path, &mount.top) })
        };
        Self {
            v1: group(CgroupVersion::One, membership.v1("cpu"), v1),
            v2: group(CgroupVersion::Two, membership.v2(), v2),
        }
    }

    /// The groups, each followed by its ancestors.
    pub fn upwards(&self) -> Vec<Cgroup> {
        [&self.v1, &self.v2].into_iter().flatten().flat_map(Cgroup::upwards).collect()
    }
}

/// The path relative to the mount's root. A group outside of the mount is shown with `..`, and its
/// files cannot be reached: the root of the mount stands for it.
fn below(path: &str, top: &str) -> String {
    let relative =
        path.strip_prefix(top.trim_end_matches('/')).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let relative = relative.unwrap_or(path);
    if relative.contains("/..") { String::new() } else { relative.trim_end_matches('/').to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;

    #[test]
    fn paths_are_relative_to_the_mount() {
        for (path, top, expected) in [
            ("/docker/1f", "/", "/docker/1f"),
            ("/docker/1f", "/docker/1f", ""),
            ("/docker/1f/pod", "/docker/1f", "/pod"),
            ("/docker/1fe", "/docker/1f", "/docker/1fe"),
            ("/", "/", ""),
            ("/../other", "/", ""),
        ] {
            assert_eq!(below(path, top), expected, "{path} below {top}");
        }
    }

    #[test]
    fn upwards_ends_at_the_mount() {
        let (mount, path) = ("/sys/fs/cgroup".to_owned(), "/a/b".to_owned());
        let group = Cgroup { version: CgroupVersion::Two, mount, path };
        let folders: Vec<String> = group.upwards().iter().map(Cgroup::folder).collect();
        assert_eq!(folders, ["/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup"]);
        let names: Vec<String> = group.upwards().iter().map(|group| group.name().to_owned()).collect();
        assert_eq!(names, ["/a/b", "/a", "/"]);
    }

    #[test]
    fn a_process_has_a_group_in_each_hierarchy() {
        let (cpu, unified) = (
            "34 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct",
            "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw",
        );
        let mounts =
            format!("33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n{cpu}\n{unified}");
        let (_folder, root) = tree(&[
            ("/proc/self/mountinfo", &mounts),
            ("/proc/7/cgroup", "4:memory:/m\n1:cpu,cpuacct:/a/b\n0::/"),
            ("/proc/8/cgroup", "2:cpuset:/a"),
        ]);
        let folders =
            |pid: u32| CpuCgroups::read(&root, pid).upwards().iter().map(Cgroup::folder).collect::<Vec<_>>();
        let below = ["/a/b", "/a", ""].map(|path| format!("/sys/fs/cgroup/cpu{path}"));
        assert_eq!(folders(7), [&below[..], &["/sys/fs/cgroup/unified".to_owned()]].concat());
        assert!(folders(8).is_empty() && folders(9).is_empty());
    }
}
