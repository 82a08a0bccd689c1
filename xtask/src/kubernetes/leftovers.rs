//! What a kubelet and a containerd that were killed leave on a machine: processes, mounts and control groups.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{Pid, Signal, kill_process};

/// The groups of pods below each controller of cgroup v1, and below the only one of v2; of kubelets that leave groups to
/// systemd, the second.
const PODS: [&str; 2] = ["kubepods", "kubepods.slice"];

/// Folders that they make outside of their own.
const FOLDERS: [&str; 3] = ["/var/lib/kubelet/device-plugins", "/var/lib/kubelet", "/var/log/containers"];

/// The groups of a kubelet that runs here, or was left behind.
pub(super) fn groups() -> Vec<PathBuf> {
    let controllers =
        fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten().map(|entry| entry.path());
    let roots: Vec<PathBuf> = controllers.chain(["/sys/fs/cgroup".into()]).collect();
    let all = roots.iter().flat_map(|root| PODS.map(|name| root.join(name)));
    all.filter(|group| group.exists()).collect()
}

/// Removes what was left by a cluster of this folder.
pub(super) fn remove(folder: &Path) {
    for pid in shims(folder) {
        let _ = kill_process(pid, Signal::KILL);
    }
    let mut mounts = mounts(&fs::read_to_string("/proc/self/mounts").unwrap_or_default(), folder);
    // What is mounted in another comes after it.
    mounts.reverse();
    for mount in mounts {
        let _ = unmount(&mount, UnmountFlags::DETACH);
    }
    groups().iter().for_each(|group| remove_group(group));
    drop(fs::remove_file(Path::new(FOLDERS[0]).join("kubelet.sock")));
    // Those of others are not empty.
    FOLDERS.iter().for_each(|folder| drop(fs::remove_dir(folder)));
}

/// The processes that stand between containerd and its containers, which outlive it: the folder's socket is in their words.
fn shims(folder: &Path) -> Vec<Pid> {
    let folder = folder.display().to_string();
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_shim = |pid: &i32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words);
        words.contains("containerd-shim") && words.contains(&folder)
    };
    pids.filter(is_shim).filter_map(Pid::from_raw).collect()
}

/// The places below a folder where something is mounted.
fn mounts(table: &str, folder: &Path) -> Vec<PathBuf> {
    let places = table.lines().filter_map(|line| line.split(' ').nth(1)).map(PathBuf::from);
    places.filter(|place| place.starts_with(folder)).collect()
}

/// Removes a group and those in it, as far as they are empty.
fn remove_group(group: &Path) {
    for entry in fs::read_dir(group).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_group(&entry.path());
        }
    }
    drop(fs::remove_dir(group));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_mounted_below_the_folder_is_unmounted() {
        let table = "proc /proc proc rw 0 0\ntmpfs /tmp/a/b tmpfs rw 0 0\ntmpfs /tmp/ab tmpfs rw 0 0\noverlay /tmp/a/b/c overlay rw 0 0\n";
        assert_eq!(mounts(table, Path::new("/tmp/a")), [Path::new("/tmp/a/b"), Path::new("/tmp/a/b/c")]);
    }
}
