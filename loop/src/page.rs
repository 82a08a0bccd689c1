//! System calls for memory, clock and thread: `mmap`, `memfd_create`, `clock_gettime`, `gettid`.

#![allow(unsafe_code, reason = "memory that is shared with another process cannot be had without")]

use std::ffi::OsString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::layout::{LENGTH, MAGIC, SPANS};

/// Bytes that are mapped of the head: a page.
pub(crate) const HEAD: usize = 4096;

/// An environment variable; `None` in a set-user-ID program or one with file capabilities, whose environment is not trusted.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    // SAFETY: the call takes no memory.
    let is_privileged = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    std::env::var_os(name).filter(|_| !is_privileged)
}

/// A mapping, unmapped on drop, of words that other processes may change.
#[derive(Debug)]
pub(crate) struct Words {
    first: NonNull<AtomicU64>,
    length: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and gives access to atomics only.
unsafe impl Send for Words {}

impl Words {
    /// `mmap(MAP_SHARED)`: `length` bytes of `file` from `offset` on.
    pub(crate) fn shared(file: RawFd, offset: usize, length: usize) -> Option<Self> {
        Self::map(libc::MAP_SHARED, file, offset, length)
    }

    /// A private page that is zeroed in forked processes (`MADV_WIPEONFORK`, Linux 4.14).
    pub(crate) fn wiped_on_fork() -> Option<Self> {
        const LENGTH: usize = 4096;
        let page = Self::map(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0, LENGTH)?;
        // SAFETY: the range was just mapped, is private and anonymous, and belongs to `page`.
        let wiped = unsafe { libc::madvise(page.first.as_ptr().cast(), LENGTH, libc::MADV_WIPEONFORK) };
        (wiped == 0).then_some(page)
    }

    fn map(flags: libc::c_int, file: RawFd, offset: usize, length: usize) -> Option<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let offset = libc::off_t::try_from(offset).ok()?;
        // SAFETY: a new mapping at an address of the kernel's choice; it overlaps nothing.
        let at = unsafe { libc::mmap(ptr::null_mut(), length, access, flags, file, offset) };
        let first = NonNull::new(at.cast()).filter(|_| at != libc::MAP_FAILED)?;
        Some(Self { first, length })
    }

    #[inline]
    pub(crate) fn get(&self) -> &[AtomicU64] {
        // SAFETY: page-aligned, `length` bytes long, and mapped as long as self; every process changes it through atomics.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.length / size_of::<AtomicU64>()) }
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        // SAFETY: mapped by `map` with this length; references to it borrow self.
        unsafe { libc::munmap(self.first.as_ptr().cast(), self.length) };
    }
}

/// `memfd_create(2)`: memory for loops, sealed so that its length cannot change.
pub(crate) fn new_memory() -> Option<OwnedFd> {
    const SEALS: libc::c_int = libc::F_SEAL_SEAL | libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name is NUL-terminated.
    let file = unsafe { libc::memfd_create(c"howlate".as_ptr(), flags) };
    if file < 0 {
        return None;
    }
    // SAFETY: it was just opened, and has no other owner.
    let file = unsafe { OwnedFd::from_raw_fd(file) };
    // SAFETY: the call takes no memory.
    let is_long = unsafe { libc::ftruncate(file.as_raw_fd(), libc::off_t::try_from(LENGTH).ok()?) } == 0;
    // SAFETY: the call takes no memory.
    let is_sealed = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, SEALS) } == 0;
    let head = Words::shared(file.as_raw_fd(), 0, HEAD).filter(|_| is_long && is_sealed)?;
    head.get()[SPANS].store(1, Relaxed);
    head.get()[MAGIC.0].store(MAGIC.1, Relaxed);
    Some(file)
}

/// `CLOCK_MONOTONIC` in nanoseconds, or the processor's time stamp counter.
#[inline]
pub(crate) fn now(ticks: bool) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if ticks {
        // SAFETY: every processor of this architecture has the instruction.
        return unsafe { std::arch::x86_64::_rdtsc() };
    }
    let _ = ticks;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to `time`, which lives on.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// `gettid(2)`
pub(crate) fn thread_id() -> u32 {
    // SAFETY: the call takes nothing and cannot fail.
    let thread = unsafe { libc::syscall(libc::SYS_gettid) };
    u32::try_from(thread).unwrap_or(0)
}

/// `fstat(2)`: length of a file in bytes. The file position stays: the descriptor may belong to another file by now.
pub(crate) fn file_length(file: RawFd) -> Option<usize> {
    // SAFETY: the struct holds only integers, for which 0 is valid.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the call writes to `stat`, which lives on; an invalid descriptor is an error.
    let is_open = unsafe { libc::fstat(file, &raw mut stat) } == 0;
    usize::try_from(stat.st_size).ok().filter(|_| is_open)
}
