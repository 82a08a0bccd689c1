//! The modules that a guest's port for results needs.

use std::path::PathBuf;

/// What the port for results needs, each after what it depends on itself.
pub(crate) const MODULES: [&str; 6] = [
    "virtio_ring",
    "virtio",
    "virtio_pci_modern_dev",
    "virtio_pci_legacy_dev",
    "virtio_pci",
    "virtio_console",
];

/// Those of [`MODULES`] that are in one of the folders, compressed or not.
pub(crate) fn modules_in(folders: &[PathBuf]) -> Vec<PathBuf> {
    let endings = ["ko", "ko.xz", "ko.zst", "ko.gz"];
    let candidates = |name: &str| -> Vec<PathBuf> {
        let files = endings.iter().map(|ending| format!("{name}.{ending}"));
        files.flat_map(|file| folders.iter().map(move |folder| folder.join(&file))).collect()
    };
    MODULES.iter().filter_map(|name| candidates(name).into_iter().find(|path| path.exists())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_come_in_the_order_in_which_they_load() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["virtio_console.ko", "virtio.ko.xz", "virtio_ring.ko", "other.ko"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let found = modules_in(&[folder.path().to_owned()]);
        let names: Vec<_> = found.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["virtio_ring.ko", "virtio.ko.xz", "virtio_console.ko"]);
    }
}
