//! The processor's name, or the board's.

use howlate_procfs::{CpuInfo, Root, board};

/// x86 gives the processor's `model name`; ARM boards are known by their own name.
pub(super) fn name(root: &Root) -> String {
    let model = CpuInfo::read(root).field("model name").map(str::to_owned);
    model.or_else(|| board(root)).unwrap_or_default()
}
