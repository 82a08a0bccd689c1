//! The container that this process runs in.

use crate::{CgroupMembership, Reading, Root, SELF};

/// A container, and the file that reveals it.
pub struct Container {
    /// Name of the runtime: `docker`, `kubernetes`.
    pub runtime: String,
    pub reading: Reading,
}

/// The container that this process runs in; `None` outside.
///
/// The most specific sign is checked first: containers of Kubernetes also look like
/// Docker's or containerd's.
pub fn container(root: &Root) -> Option<Container> {
    kubernetes(root)
        .or_else(|| podman(root))
        .or_else(|| docker(root))
        .or_else(|| declared(root))
        .or_else(|| by_group(root))
}

fn kubernetes(root: &Root) -> Option<Container> {
    let account = root.reading("/var/run/secrets/kubernetes.io/serviceaccount/namespace");
    // A pod may have no service account; its /etc/hosts is still the kubelet's.
    let hosts = root.reading("/etc/hosts").lines(|line| line.starts_with("# Kubernetes-managed hosts file"));
    let is_nonempty = |reading: &Reading| reading.text().is_some_and(|text| !text.is_empty());
    let reading = [account, hosts].into_iter().find(is_nonempty)?;
    Some(Container { runtime: "kubernetes".into(), reading })
}

fn podman(root: &Root) -> Option<Container> {
    let reading = root.reading("/run/.containerenv");
    let rootless = reading.text()?.lines().any(|line| line.trim() == "rootless=1");
    let runtime = if rootless { "podman (rootless)" } else { "podman" };
    Some(Container { runtime: runtime.into(), reading })
}

/// A virtual machine may be booted from a container image and keep its mark, so the mark
/// counts only where kernel threads are not visible.
fn docker(root: &Root) -> Option<Container> {
    let reading = root.reading("/.dockerenv");
    reading.text()?;
    let sees_kernel_threads = root.read("/proc/2/comm").as_deref() == Ok("kthreadd");
    let mark = Reading { content: Ok("present".into()), ..reading };
    (!sees_kernel_threads).then(|| Container { runtime: "docker".into(), reading: mark })
}

/// systemd-nspawn, LXC and others set `container=` for PID 1; systemd copies it to a world-readable file.
fn declared(root: &Root) -> Option<Container> {
    let systemd = root.reading("/run/systemd/container");
    if let Some(runtime) = systemd.text().filter(|text| !text.is_empty()).map(str::to_owned) {
        return Some(Container { runtime, reading: systemd });
    }
    let reading = root.reading("/proc/1/environ");
    let runtime = reading.text()?.split('\0').find_map(|entry| entry.strip_prefix("container="))?;
    let entry = Reading { content: Ok(format!("container={runtime}")), path: reading.path.clone() };
    Some(Container { runtime: runtime.to_owned(), reading: entry })
}

fn by_group(root: &Root) -> Option<Container> {
    let reading = CgroupMembership::read(root, SELF).reading;
    let hints = [
        ("kubepods", "kubernetes"),
        ("/docker", "docker"),
        ("libpod", "podman"),
        ("containerd", "containerd"),
        ("/lxc", "lxc"),
    ];
    let (hint, runtime) =
        hints.into_iter().find(|(hint, _)| reading.text().is_some_and(|text| text.contains(hint)))?;
    // The daemons themselves run in groups of these names with `.service` at the end.
    let group_lines = reading.lines(|line| line.contains(hint) && !line.ends_with(".service"));
    let is_inside = group_lines.text().is_some_and(|lines| !lines.is_empty());
    is_inside.then(|| Container { runtime: runtime.into(), reading: group_lines })
}
