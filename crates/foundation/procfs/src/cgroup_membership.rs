//! `/proc/PID/cgroup`: the control groups of a process, one in each hierarchy.
//!
//! Not by procfs-core 0.18, which fails on the whole file where one line is malformed, and does not read the groups.

use std::fmt::Display;

use crate::{Reading, Root};

/// The file of one process.
///
/// Source: `cgroups(7)`, "/proc files".
#[derive(Clone, Debug)]
pub struct CgroupMembership {
    pub reading: Reading,
}

/// A hierarchy, and the path of the group in it.
struct HierarchyLine<'a> {
    /// Of cgroup v1: `cpu,cpuacct`, or a name: `name=systemd`. Empty for cgroup v2.
    controllers: &'a str,
    path: &'a str,
}

impl CgroupMembership {
    pub fn read(root: &Root, process: impl Display) -> Self {
        Self { reading: root.reading(format!("/proc/{process}/cgroup")) }
    }

    /// The path in the cgroup v1 hierarchy with `controller`.
    pub fn v1(&self, controller: &str) -> Option<&str> {
        self.lines().find(|line| line.has(controller)).map(|line| line.path)
    }

    /// The path in the unified hierarchy, cgroup v2.
    pub fn v2(&self) -> Option<&str> {
        self.lines().find(HierarchyLine::is_unified).map(|line| line.path)
    }

    /// The most specific path: while systemd uses its own v1 hierarchy, services are only in that one.
    pub fn path(&self) -> Option<&str> {
        let paths = [self.v2(), self.v1("name=systemd"), self.v1("cpu")].into_iter().flatten();
        paths.clone().find(|path| *path != "/").or_else(|| paths.clone().next())
    }

    /// The lines of the hierarchies that control CPU time, as evidence.
    pub fn cpu_time_lines(&self) -> Reading {
        self.reading
            .lines(|line| HierarchyLine::parse(line).is_some_and(|line| line.is_unified() || line.has("cpu")))
    }

    fn lines(&self) -> impl Iterator<Item = HierarchyLine<'_>> {
        self.reading.text().unwrap_or_default().lines().filter_map(HierarchyLine::parse)
    }
}

impl<'a> HierarchyLine<'a> {
    /// `4:cpu,cpuacct:/docker/1f` of cgroup v1, `0::/user.slice` of v2; a path may contain colons.
    fn parse(line: &'a str) -> Option<Self> {
        let mut parts = line.splitn(3, ':').skip(1);
        Some(Self { controllers: parts.next()?, path: parts.next()? })
    }

    fn is_unified(&self) -> bool {
        self.controllers.is_empty()
    }

    fn has(&self, controller: &str) -> bool {
        self.controllers.split(',').any(|name| name == controller)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn membership(text: &str) -> CgroupMembership {
        CgroupMembership { reading: Reading { path: "/proc/7/cgroup".into(), content: Ok(text.into()) } }
    }

    #[test]
    fn each_hierarchy_has_its_path() {
        const HYBRID: &str = "11:cpu,cpuacct:/user.slice\n10:cpuset:/\n4:memory:/user.slice\n\
            1:name=systemd:/user.slice/user-0.slice/session-1.scope\n0::/user.slice/user-0.slice/session-1.scope";
        const SYSTEMD: &str = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-a\\x2db.scope";
        for (text, v1, v2) in [
            (HYBRID, Some("/user.slice"), Some("/user.slice/user-0.slice/session-1.scope")),
            (SYSTEMD, None, SYSTEMD.strip_prefix("0::")),
            ("1:cpu:/\n", Some("/"), None),
            ("0::/../other", None, Some("/../other")),
            ("0::/a:b c (deleted)", None, Some("/a:b c (deleted)")),
            ("3:cpuset:/x\n2:cpuacct:/y", None, None),
            ("odd\n4:cpu", None, None),
            ("odd\n0::/a", None, Some("/a")),
            ("", None, None),
        ] {
            let membership = membership(text);
            assert_eq!((membership.v1("cpu"), membership.v2()), (v1, v2), "{text}");
        }
    }

    #[test]
    fn evidence_is_what_controls_cpu_time() {
        let membership = membership("4:cpu,cpuacct:/a\n3:cpuset:/b\n1:name=systemd:/c\n0::/d");
        assert_eq!(membership.cpu_time_lines().text(), Some("4:cpu,cpuacct:/a\n0::/d"));
    }
}
