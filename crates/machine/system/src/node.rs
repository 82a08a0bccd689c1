//! Which machine this is.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use howlate_model::Node;
use howlate_procfs::Root;
use sha2::{Digest, Sha256};

/// What makes the hash of the machine's id ours: the id itself is not to leave the machine.
///
/// Source: <https://man7.org/linux/man-pages/man5/machine-id.5.html>
const OURS: &[u8] = b"howlate, which machine:";

/// Which machine this is. What cannot be read is absent, as the id in a container or in a first file system.
pub fn node(root: &Root) -> Node {
    let read = |file: &str| root.read(file).ok().filter(|text| !text.is_empty());
    Node {
        name: read("/proc/sys/kernel/hostname").filter(|name| name != "(none)"),
        machine: read("/etc/machine-id").filter(|id| is_id(id)).map(|id| hashed(&id)),
        boot: read("/proc/sys/kernel/random/boot_id"),
        labels: BTreeMap::new(),
    }
}

/// As systemd writes it. An image that was not booted yet says `uninitialized`.
fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// 32 hexadecimal digits.
fn hashed(id: &str) -> String {
    let digest = Sha256::new().chain_update(OURS).chain_update(id).finalize();
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
    fn a_machine_is_known_again_without_telling_its_id() {
        let id = "0123456789abcdef0123456789abcdef";
        let (one, again) = (node_with(&format!("{id}\n")), node_with(&format!("{id}\n")));
        assert_eq!((one.machine.as_ref(), one.name.as_deref()), (again.machine.as_ref(), Some("n17")));
        let hash = one.machine.unwrap();
        assert!(hash.len() == 32 && !hash.contains(&id[..8]), "{hash}");
        assert_ne!(Some(hash), node_with("1123456789abcdef0123456789abcdef\n").machine);
    }

    #[test]
    fn an_image_that_was_never_booted_has_no_id() {
        assert_eq!(node_with("uninitialized\n").machine, None);
        assert_eq!(node_with("").machine, None);
    }
}
