//! Facts of this machine: its PID namespace, the process of a thread, and the possible CPUs.

use howlate_model::{CpuSet, TracerRefusal};
use howlate_procfs::{Root, Status};

/// The kernel's events carry the process ids of the initial PID namespace.
pub(crate) fn check_pid_namespace() -> Result<(), TracerRefusal> {
    /// `PROC_PID_INIT_INO` of the kernel's `proc_ns.h`.
    const INITIAL_NAMESPACE: &str = "pid:[4026531836]";
    match std::fs::read_link("/proc/self/ns/pid") {
        Ok(namespace) if namespace.as_os_str() != INITIAL_NAMESPACE => Err(TracerRefusal::ForeignIds),
        _ => Ok(()),
    }
}

/// The process of a thread; `None` once it has ended.
pub(crate) fn process_of(tid: u32) -> Option<u32> {
    Status::read(&Root::live(), tid).process()
}

/// All CPUs that may ever be online; empty where the kernel does not list them.
pub(crate) fn possible_cpus() -> CpuSet {
    Root::live().read("/sys/devices/system/cpu/possible").unwrap_or_default().parse().unwrap_or_default()
}

/// Number of entries of a map with one for each possible CPU.
#[cfg(target_endian = "little")]
pub(crate) fn cpu_slots() -> u32 {
    possible_cpus().iter().max().unwrap_or(255) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_belongs_to_its_process() {
        let (own_pid, own_tid) = (std::process::id(), howlate_linux::thread::id());
        assert_eq!((process_of(own_pid), process_of(own_tid)), (Some(own_pid), Some(own_pid)));
    }
}
