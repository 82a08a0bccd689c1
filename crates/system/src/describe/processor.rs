//! The processor's name, or the board's.

use crate::root::Root;

/// x86 gives the processor's `model name`; ARM boards are known by their own name.
pub(super) fn name(root: &Root) -> String {
    let processors = root.read("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let of_line = |line: &str| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        };
        processors.lines().find_map(of_line)
    };
    let board = || root.read("/proc/device-tree/model").ok();
    field("model name").or_else(|| field("Model")).or_else(board).unwrap_or_default()
}
