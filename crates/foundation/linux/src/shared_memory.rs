//! Memory that two processes share: an anonymous file (memfd) that both map.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fstat, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// Bytes at the start that hold the C library's semaphores and condition variables, outside [`SharedMemory::words`].
const OBJECT_BYTES: usize = LANES * LANE_BYTES;
/// One lane per direction.
const LANES: usize = 2;
const LANE_BYTES: usize = 256;
const WORD: usize = size_of::<u64>();

/// A mapping of shared memory, unmapped on drop.
pub struct SharedMemory {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and stays until drop.
unsafe impl Send for SharedMemory {}
// SAFETY: shared references give access to atomics only, and to objects of the C library
// that are made for use from several threads.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// `memfd_create(2)` and `mmap(2)`: zeroed memory of `words` words, and the file to share it by.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, or `EMFILE` when too many files are open.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/memfd_create.2.html>
    pub fn create(words: usize) -> io::Result<(Self, OwnedFd)> {
        let file = Self::file(words)?;
        Ok((Self::open(&file)?, file))
    }

    /// Sealed, so that neither side can shrink the file under the other's mapping.
    fn file(words: usize) -> io::Result<OwnedFd> {
        let file = memfd_create("howlate", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, (OBJECT_BYTES + words * WORD) as u64)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Ok(file)
    }

    /// `mmap(2)`: maps the memory behind `file`.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/mmap.2.html>
    ///
    /// # Errors
    ///
    /// `InvalidInput` when the file is too short or can still shrink; `ENOMEM`.
    pub fn open(file: impl AsFd) -> io::Result<Self> {
        // The seal first: it cannot be removed, whereas a size that is read before it may change. On anything but a memfd this call fails
        // at once, before `fstat`, which the file system of a foreign file could delay.
        let sealed = rustix::fs::fcntl_get_seals(&file)?.contains(SealFlags::SHRINK);
        let len = usize::try_from(fstat(&file)?.st_size).unwrap_or(0);
        if len < OBJECT_BYTES + WORD || !sealed {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice; it overlaps nothing.
        let base =
            unsafe { mmap(ptr::null_mut(), len, access, MapFlags::SHARED | MapFlags::POPULATE, file, 0)? };
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, len })
    }

    /// The memory as words.
    pub fn words(&self) -> &[AtomicU64] {
        let count = (self.len - OBJECT_BYTES) / WORD;
        // SAFETY: the objects fit into the mapping; see `open`.
        let first = unsafe { self.base.add(OBJECT_BYTES) };
        // SAFETY: page-aligned plus a multiple of 8, within the mapping, which lives as long as
        // self; other processes change it through atomics too.
        unsafe { std::slice::from_raw_parts(first.cast().as_ptr(), count) }
    }

    /// The low half of word number `index`, which `futex(2)` can wait on.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/futex.2.html>
    ///
    /// # Panics
    ///
    /// When there is no such word.
    pub fn half_word(&self, index: usize) -> &AtomicU32 {
        let word: *const AtomicU64 = &raw const self.words()[index];
        // SAFETY: half of an atomic that is never used as a whole is an atomic itself; it lives
        // as long as self.
        unsafe { &*word.cast::<AtomicU32>() }
    }

    /// Address of the C library's object of one lane, initially all zero.
    ///
    /// # Panics
    ///
    /// When there is no such lane, or the object is too large.
    pub(crate) fn object<T>(&self, lane: usize) -> NonNull<T> {
        assert!(lane < LANES && size_of::<T>() <= LANE_BYTES && align_of::<T>() <= 64, "no such place");
        // SAFETY: lanes lie within the first OBJECT_BYTES bytes of the mapping.
        unsafe { self.base.add(lane * LANE_BYTES) }.cast()
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: mapped by `open` with this length; references to it borrow self.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
        debug_assert!(unmapped.is_ok());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn what_one_mapping_stores_the_other_reads() {
        let (first, file) = SharedMemory::create(16).unwrap();
        let second = SharedMemory::open(&file).unwrap();
        assert_eq!(second.words().len(), 16);
        first.words()[15].store(7, Ordering::Relaxed);
        assert_eq!(second.words()[15].load(Ordering::Relaxed), 7);
        second.half_word(3).store(9, Ordering::Relaxed);
        assert_eq!(first.half_word(3).load(Ordering::Relaxed), 9);
        assert!(ftruncate(&file, 0).is_err());
    }
}
