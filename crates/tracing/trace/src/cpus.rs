//! The CPUs that this machine can have.

use howlate_model::CpuSet;
use howlate_procfs::Root;

/// All that may ever be there, also those that are off; empty where the kernel does not say.
pub(crate) fn possible() -> CpuSet {
    Root::live().read("/sys/devices/system/cpu/possible").unwrap_or_default().parse().unwrap_or_default()
}
