//! Mapped memory, unmapped on drop.

#![allow(unsafe_code, reason = "memory that is shared with another process cannot be had without")]

use std::ffi::OsString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::layout::{LENGTH, MAGIC, SPANS};

/// What is mapped of the head.
pub(crate) const HEAD: usize = 4096;

/// A variable of the environment; none in a program that has more rights than whoever started it.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    // SAFETY: the call takes no memory.
    let has_more_rights = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    std::env::var_os(name).filter(|_| !has_more_rights)
}

/// A mapping of words that other processes may change.
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

    /// A word of this process alone: 0 in a process that was forked from it (`MADV_WIPEONFORK`, Linux 4.14).
    pub(crate) fn of_this_process() -> Option<Self> {
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

    /// The memory as words that others may read meanwhile.
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

/// `memfd_create(2)`: memory for loops, whose length nobody can change.
pub(crate) fn memory() -> Option<OwnedFd> {
    const SEALS: libc::c_int = libc::F_SEAL_SEAL | libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name is a text with its end.
    let file = unsafe { libc::memfd_create(c"howlate".as_ptr(), flags) };
    if file < 0 {
        return None;
    }
    // SAFETY: it was just opened, and belongs to nobody else.
    let file = unsafe { OwnedFd::from_raw_fd(file) };
    // SAFETY: no memory is handed on.
    let is_long = unsafe { libc::ftruncate(file.as_raw_fd(), libc::off_t::try_from(LENGTH).ok()?) } == 0;
    // SAFETY: no memory is handed on.
    let is_sealed = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, SEALS) } == 0;
    let head = Words::shared(file.as_raw_fd(), 0, HEAD).filter(|_| is_long && is_sealed)?;
    head.get()[SPANS].store(1, Relaxed);
    head.get()[MAGIC.0].store(MAGIC.1, Relaxed);
    Some(file)
}

/// `CLOCK_MONOTONIC` in nanoseconds, or the processor's ticks.
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

/// `gettid(2)`.
pub(crate) fn thread() -> u32 {
    // SAFETY: the call takes nothing and cannot fail.
    let thread = unsafe { libc::syscall(libc::SYS_gettid) };
    u32::try_from(thread).unwrap_or(0)
}

/// `fstat(2)`: how long a file is. Its number may be another file's by now, whose place is left alone.
pub(crate) fn length(file: RawFd) -> Option<usize> {
    // SAFETY: of plain numbers, for which 0 is a value.
    let mut found: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the call writes to `found`, which lives on; a number that is no file is an error.
    let is_known = unsafe { libc::fstat(file, &raw mut found) } == 0;
    usize::try_from(found.st_size).ok().filter(|_| is_known)
}
