//! The identity of the machine.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use howlate_model::Node;
use howlate_procfs::Root;
use sha2::{Digest, Sha256};

/// The salt of the hash of the machine's id: the id itself must not leave the machine.
///
/// Source: <https://man7.org/linux/man-pages/man5/machine-id.5.html>
const SALT: &[u8] = b"howlate, which machine:";

/// The identity of the machine. What cannot be read is `None`, such as the id in a container or an initramfs.
pub fn node(root: &Root) -> Node {
    let read = |file: &str| root.read(file).ok().filter(|text| !text.is_empty());
    Node {
        name: read("/proc/sys/kernel/hostname").filter(|name| name != "(none)"),
        machine: read("/etc/machine-id").filter(|id| is_id(id)).map(|id| hash_id(&id)),
        boot: read("/proc/sys/kernel/random/boot_id"),
        labels: BTreeMap::new(),
    }
}

/// Whether the id is in systemd's format: an image that was never booted has `uninitialized`.
fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The first 16 bytes of the hash, in hexadecimal.
fn hash_id(id: &str) -> String {
    let digest = Sha256::new().chain_update(SALT).chain_update(id).finalize();
    digest.iter().take(16).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node_with(machine_id: &str) -> Node {
        let files = [("etc/machine-id", machine_id), ("proc/sys/kernel/hostname", "n17\n")];
        let folder = howlate_testing::tree(&files);
        node(&Root::at(folder.path()))
    }

    #[test]
    fn a_machine_is_recognised_without_revealing_its_id() {
        let id = "0123456789abcdef0123456789abcdef";
        let (first, second) = (node_with(&format!("{id}\n")), node_with(&format!("{id}\n")));
        assert_eq!((first.machine.as_ref(), first.name.as_deref()), (second.machine.as_ref(), Some("n17")));
        let hash = first.machine.unwrap();
        assert!(hash.len() == 32 && !hash.contains(&id[..8]), "{hash}");
        assert_ne!(Some(hash), node_with("1123456789abcdef0123456789abcdef\n").machine);
    }

    #[test]
    fn an_image_that_was_never_booted_has_no_id() {
        assert_eq!(node_with("uninitialized\n").machine, None);
        assert_eq!(node_with("").machine, None);
    }
}
