//! The processor's name, or the board's.

use howlate_procfs::{CpuInfo, Root};

/// x86 gives the processor's `model name`; ARM boards are known by their own name.
pub(super) fn name(root: &Root) -> String {
    let info = CpuInfo::read(root);
    let field = |name: &str| info.field(name).map(str::to_owned);
    let board = || root.read("/proc/device-tree/model").ok();
    field("model name").or_else(|| field("Model")).or_else(board).unwrap_or_default()
}
