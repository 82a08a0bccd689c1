//! Whether this process runs in a container, and whose.

use crate::{CgroupMembership, Reading, Root, SELF};

/// A container, and the file that gave it away.
pub struct Container {
    /// What runs it: `docker`, `kubernetes`.
    pub runtime: String,
    /// What was read.
    pub reading: Reading,
}

/// The container this process runs in.
///
/// The most telling trace comes first: Kubernetes names itself inside containers that
/// also look like Docker's or containerd's.
pub fn container(root: &Root) -> Option<Container> {
    kubernetes(root)
        .or_else(|| podman(root))
        .or_else(|| docker(root))
        .or_else(|| declared(root))
        .or_else(|| by_group(root))
}

fn kubernetes(root: &Root) -> Option<Container> {
    let account = root.reading("/var/run/secrets/kubernetes.io/serviceaccount/namespace");
    // A pod may have no account; its names of hosts are the kubelet's all the same.
    let hosts = root.reading("/etc/hosts").lines(|line| line.starts_with("# Kubernetes-managed hosts file"));
    let is_one = |reading: &Reading| reading.text().is_some_and(|text| !text.is_empty());
    let reading = [account, hosts].into_iter().find(is_one)?;
    Some(Container { runtime: "kubernetes".into(), reading })
}

fn podman(root: &Root) -> Option<Container> {
    let reading = root.reading("/run/.containerenv");
    let rootless = reading.text()?.lines().any(|line| line.trim() == "rootless=1");
    let runtime = if rootless { "podman (rootless)" } else { "podman" };
    Some(Container { runtime: runtime.into(), reading })
}

/// A virtual machine may be booted from a container image and keep its mark, so the mark
/// counts only where the kernel's own threads are out of sight.
fn docker(root: &Root) -> Option<Container> {
    let reading = root.reading("/.dockerenv");
    reading.text()?;
    let sees_kernel_threads = root.read("/proc/2/comm").as_deref() == Ok("kthreadd");
    let mark = Reading { content: Ok("present".into()), ..reading };
    (!sees_kernel_threads).then(|| Container { runtime: "docker".into(), reading: mark })
}

/// systemd-nspawn, LXC and others set `container=` for the first process, which systemd writes down for everybody to read.
fn declared(root: &Root) -> Option<Container> {
    let written = root.reading("/run/systemd/container");
    if let Some(runtime) = written.text().filter(|text| !text.is_empty()).map(str::to_owned) {
        return Some(Container { runtime, reading: written });
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
    let inside = reading.lines(|line| line.contains(hint) && !line.ends_with(".service"));
    let known = inside.text().is_some_and(|lines| !lines.is_empty());
    known.then(|| Container { runtime: runtime.into(), reading: inside })
}
