//! Whether process ids in here are those that the kernel's events carry, and whose thread one is.

use howlate_model::TracerRefusal;
use howlate_procfs::{Root, Status};

/// The first process ids of the kernel: its events carry those, whatever namespace a process is in.
pub(crate) fn has_the_kernels_ids() -> Result<(), TracerRefusal> {
    /// `PROC_PID_INIT_INO` of the kernel's `proc_ns.h`.
    const FIRST: &str = "pid:[4026531836]";
    match std::fs::read_link("/proc/self/ns/pid") {
        Ok(namespace) if namespace.as_os_str() != FIRST => Err(TracerRefusal::ForeignIds),
        _ => Ok(()),
    }
}

/// The process of a thread; `None` once it has ended.
pub(crate) fn process_of(tid: u32) -> Option<u32> {
    Status::read(&Root::live(), tid).process()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_belongs_to_its_process() {
        let (mine, here) = (std::process::id(), howlate_linux::thread::id());
        assert_eq!((process_of(mine), process_of(here)), (Some(mine), Some(mine)));
    }
}
