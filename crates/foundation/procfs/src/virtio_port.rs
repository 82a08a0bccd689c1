//! Ports through which a guest and its host exchange bytes.

use crate::Root;

/// The device of the port that its host calls `name`; `None` where there is none.
///
/// Source: `Documentation/ABI/testing/sysfs-class-virtio-console` of Linux, `name`.
pub fn virtio_port(root: &Root, name: &str) -> Option<String> {
    const PORTS: &str = "/sys/class/virtio-ports";
    let is_wanted = |device: &String| {
        root.read(&format!("{PORTS}/{device}/name")).is_ok_and(|called| called.trim() == name)
    };
    root.list(PORTS).into_iter().find(is_wanted).map(|device| format!("/dev/{device}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_found_by_its_name() {
        let ports = [
            ("sys/class/virtio-ports/vport0p1/name", "one\n"),
            ("sys/class/virtio-ports/vport0p2/name", "two\n"),
        ];
        let folder = howlate_testing::tree(&ports);
        let root = Root::at(folder.path());
        assert_eq!(virtio_port(&root, "two").as_deref(), Some("/dev/vport0p2"));
        assert_eq!(virtio_port(&root, "three"), None);
    }
}
