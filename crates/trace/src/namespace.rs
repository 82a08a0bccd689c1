//! Whether process ids in here are those that the kernel's events carry.

use crate::Refusal;

/// The first process ids of the kernel: its events carry those, whatever namespace a process is in.
pub(crate) fn has_the_kernels_ids() -> Result<(), Refusal> {
    /// `PROC_PID_INIT_INO` of the kernel's `proc_ns.h`.
    const FIRST: &str = "pid:[4026531836]";
    match std::fs::read_link("/proc/self/ns/pid") {
        Ok(namespace) if namespace.as_os_str() != FIRST => Err(Refusal::ForeignIds),
        _ => Ok(()),
    }
}
