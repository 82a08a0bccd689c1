//! Locking memory, and anonymous mappings.

use std::hint::black_box;
use std::io;
use std::ptr::{self, NonNull};

use rustix::mm::{Advice, MapFlags, MlockAllFlags, ProtFlags, madvise, mlockall, mmap_anonymous, munmap};
use rustix::process::Resource;

use crate::process::limit;

/// Stack that a measuring thread touches before it measures. Its loop uses less than 1 KiB.
const STACK_TOUCHED: usize = 64 * 1024;

/// `mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)`: locks pages once they are touched.
///
/// `MCL_ONFAULT` (Linux 4.4) keeps untouched stack and heap from costing memory;
/// the stack is touched beforehand, see [`touch_stack`].
///
/// # Errors
///
/// `EPERM` or `ENOMEM` without `CAP_IPC_LOCK`. Under a finite `RLIMIT_MEMLOCK` nothing is
/// locked and `OutOfMemory` returned, because later allocations would fail at the limit.
///
/// Source: <https://man7.org/linux/man-pages/man2/mlock.2.html>
pub fn lock_all() -> io::Result<()> {
    let limited = limit(Resource::Memlock)?.current.is_some();
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

/// Touches the stack below the caller, so that it does not page-fault while measuring.
#[inline(never)]
pub fn touch_stack() {
    let stack = [0_u8; STACK_TOUCHED];
    black_box(&stack);
}

/// `mallopt(M_ARENA_MAX, 1)`: all threads share one heap. With one heap per thread, glibc keeps each at its peak size:
/// with many threads, half as much memory again. Other C libraries have one anyway.
///
/// Source: <https://man7.org/linux/man-pages/man3/mallopt.3.html>
pub fn share_one_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: only numbers are passed. A refusal only costs memory.
    let _ = unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

/// Anonymous memory of this process alone, unmapped on drop.
pub struct Pages {
    base: NonNull<u8>,
    len: usize,
}

impl Pages {
    /// `mmap(MAP_PRIVATE | MAP_ANONYMOUS)`: `len` bytes that read as 0 and cost no memory until they are touched,
    /// in pages of the smallest size (`MADV_NOHUGEPAGE`).
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/mmap.2.html>
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EAGAIN` where memory is locked beyond the limit.
    pub fn map(len: usize) -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice; it overlaps nothing.
        let base = unsafe { mmap_anonymous(ptr::null_mut(), len, access, MapFlags::PRIVATE)? };
        let base = NonNull::new(base.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: the whole range was just mapped. Kernels without huge pages refuse, and do not need it.
        let _ = unsafe { madvise(base.as_ptr().cast(), len, Advice::LinuxNoHugepage) };
        Ok(Self { base, len })
    }

    /// The memory, `len` bytes.
    pub const fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is `len` bytes long, belongs to self alone and lives as long.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.len) }
    }

    /// `madvise(MADV_DONTNEED)`: returns the memory to the kernel; it then reads as 0, and the next access to each page
    /// faults.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/madvise.2.html>
    ///
    /// # Errors
    ///
    /// `EINVAL` where memory is locked.
    pub fn give_back(&mut self) -> io::Result<()> {
        // SAFETY: the whole range belongs to self alone, and is plain bytes, for which 0 is valid.
        unsafe { madvise(self.base.as_ptr().cast(), self.len, Advice::LinuxDontNeed)? };
        Ok(())
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: mapped by `map` with this length; references to it borrow self.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
        debug_assert!(unmapped.is_ok());
    }
}
