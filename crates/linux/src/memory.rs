//! Keeping memory where it is.

use std::hint::black_box;
use std::io;

use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{Resource, getrlimit};

/// Stack that a measuring thread touches before it measures. Its loop uses less than 1 KiB.
const STACK_TOUCHED: usize = 64 * 1024;

/// `mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)`: pages stay once they were touched.
///
/// `MCL_ONFAULT` (Linux 4.4) keeps untouched stack and heap from costing memory;
/// what is measured is touched beforehand, see [`touch_stack`].
///
/// # Errors
///
/// `EPERM` or `ENOMEM` without `CAP_IPC_LOCK`. Under a finite `RLIMIT_MEMLOCK` nothing is
/// locked and `OutOfMemory` returned, because later allocations would fail at the limit.
///
/// Source: <https://man7.org/linux/man-pages/man2/mlock.2.html>
pub fn lock_all() -> io::Result<()> {
    let limited = getrlimit(Resource::Memlock).current.is_some();
    if limited && !has_ipc_lock() {
        return Err(io::Error::new(io::ErrorKind::OutOfMemory, "RLIMIT_MEMLOCK is finite"));
    }
    mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT)?;
    Ok(())
}

fn has_ipc_lock() -> bool {
    use rustix::thread::{CapabilitySet, capabilities};
    capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::IPC_LOCK))
}

/// Touches the stack below the caller, so that measuring does not meet its page faults.
#[inline(never)]
pub fn touch_stack() {
    let stack = [0_u8; STACK_TOUCHED];
    black_box(&stack);
}
