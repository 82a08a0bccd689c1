//! The control group this process is in, and where its files are.

use howlate_procfs::Root;

/// Which of the two hierarchies a group belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// One hierarchy for each controller: cgroup v1.
    One,
    /// The unified hierarchy: cgroup v2.
    Two,
}

/// This process's group in the hierarchy that controls CPU time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cgroup {
    pub(crate) version: Version,
    /// Where the hierarchy is mounted.
    pub(crate) mount: String,
    /// The group's path below the mount; empty for the top.
    pub(crate) path: String,
}

impl Cgroup {
    /// The group in the v1 `cpu` hierarchy.
    pub(crate) fn v1(root: &Root) -> Option<Self> {
        let listed = root.read("/proc/self/cgroup").ok()?;
        let path = listed.lines().find_map(|line| path_of_controller(line, "cpu"))?;
        let (mount, top) = mount_of(root, |kind, options| kind == "cgroup" && has_word(options, "cpu"))?;
        Some(Self { version: Version::One, mount, path: below(path, &top) })
    }

    /// The group in the unified hierarchy.
    pub(crate) fn v2(root: &Root) -> Option<Self> {
        let listed = root.read("/proc/self/cgroup").ok()?;
        let path = listed.lines().find_map(|line| line.strip_prefix("0::"))?;
        let (mount, top) = mount_of(root, |kind, _| kind == "cgroup2")?;
        Some(Self { version: Version::Two, mount, path: below(path, &top) })
    }

    /// The file `name` of this group.
    pub(crate) fn file(&self, name: &str) -> String {
        format!("{}{}/{name}", self.mount, self.path)
    }

    /// This group, then the ones above it up to the mount.
    pub(crate) fn upwards(&self) -> Vec<Self> {
        let mut groups = vec![self.clone()];
        let mut path = self.path.as_str();
        while let Some((above, _)) = path.rsplit_once('/') {
            groups.push(Self { path: above.to_owned(), ..self.clone() });
            path = above;
        }
        groups
    }

    /// The group's name for people: `/` for the top.
    pub(crate) fn name(&self) -> &str {
        if self.path.is_empty() { "/" } else { &self.path }
    }
}

/// The folders of the control groups that this process is in and that control CPU time, from its own upwards.
pub fn cpu_groups(root: &Root) -> Vec<String> {
    let groups = [Cgroup::v1(root), Cgroup::v2(root)].into_iter().flatten();
    groups.flat_map(|group| group.upwards()).map(|group| format!("{}{}", group.mount, group.path)).collect()
}

/// `4:cpu,cpuacct:/docker/1f` gives `/docker/1f` for `cpu`.
fn path_of_controller<'a>(line: &'a str, controller: &str) -> Option<&'a str> {
    let mut parts = line.splitn(3, ':').skip(1);
    let controllers = parts.next()?;
    has_word(controllers, controller).then(|| parts.next())?
}

fn has_word(list: &str, word: &str) -> bool {
    list.split(',').any(|item| item == word)
}

/// The mount point of the first file system that `wanted` accepts by kind and options,
/// and the part of it that is mounted there. Format: `proc_pid_mountinfo(5)`.
fn mount_of(root: &Root, wanted: impl Fn(&str, &str) -> bool) -> Option<(String, String)> {
    let mounts = root.read("/proc/self/mountinfo").ok()?;
    mounts.lines().find_map(|line| {
        let (mount, system) = line.split_once(" - ")?;
        let mut system = system.split_whitespace();
        let (kind, options) = (system.next()?, system.last()?);
        let mut fields = mount.split_whitespace().skip(3);
        let (top, point) = (fields.next()?, fields.next()?);
        wanted(kind, options).then(|| (point.to_owned(), top.to_owned()))
    })
}

/// The path below what is mounted. A group outside of it is shown with `..`, and its
/// files are out of reach: the top of what is visible stands for it.
fn below(path: &str, top: &str) -> String {
    let inside = path.strip_prefix(top.trim_end_matches('/')).unwrap_or(path);
    if inside.contains("/..") { String::new() } else { inside.trim_end_matches('/').to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_mount() {
        assert_eq!(below("/docker/1f", "/"), "/docker/1f");
        assert_eq!(below("/docker/1f", "/docker/1f"), "");
        assert_eq!(below("/", "/"), "");
        assert_eq!(below("/../other", "/"), "");
    }

    #[test]
    fn a_controller_may_share_its_hierarchy() {
        assert_eq!(path_of_controller("4:cpu,cpuacct:/docker/1f", "cpu"), Some("/docker/1f"));
        assert_eq!(path_of_controller("4:cpuset:/", "cpu"), None);
    }

    #[test]
    fn upwards_ends_at_the_mount() {
        let group = Cgroup { version: Version::Two, mount: "/sys/fs/cgroup".into(), path: "/a/b".into() };
        let files: Vec<String> = group.upwards().iter().map(|group| group.file("cpu.max")).collect();
        assert_eq!(
            files,
            ["/sys/fs/cgroup/a/b/cpu.max", "/sys/fs/cgroup/a/cpu.max", "/sys/fs/cgroup/cpu.max"]
        );
    }
}
