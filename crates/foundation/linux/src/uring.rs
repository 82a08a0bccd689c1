//! Futexes through `io_uring(7)` (Linux 6.7).

use std::io;
use std::sync::Arc;

use io_uring::{IoUring, opcode, squeue};

use crate::shared_memory::SharedMemory;

/// `FUTEX2_SIZE_U32` of `<linux/futex.h>`.
const SIZE_U32: u32 = 2;
/// `FUTEX2_PRIVATE`.
const PRIVATE: u32 = 128;
/// `FUTEX_BITSET_MATCH_ANY`.
const ANY: u64 = u32::MAX as u64;

/// An io_uring that waits on, or wakes waiters of, one word of shared memory.
pub struct FutexRing {
    ring: IoUring,
    memory: Arc<SharedMemory>,
    word: usize,
    flags: u32,
    /// Whether a submitted wait has not completed yet.
    waiting: bool,
}

impl FutexRing {
    /// `io_uring_setup(2)`: a ring for `memory.half_word(word)`.
    ///
    /// # Errors
    ///
    /// `EPERM` where `kernel.io_uring_disabled` or a seccomp filter forbids it, `ENOSYS` without
    /// `CONFIG_IO_URING`.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/io_uring_setup.2.html>
    pub fn new(memory: Arc<SharedMemory>, word: usize, processes: bool) -> io::Result<Self> {
        let flags = if processes { SIZE_U32 } else { SIZE_U32 | PRIVATE };
        Ok(Self { ring: IoUring::new(4)?, memory, word, flags, waiting: false })
    }

    /// `IORING_OP_FUTEX_WAIT`: waits while the word holds `value`.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/io_uring_enter.2.html>
    ///
    /// # Errors
    ///
    /// `Interrupted` when a signal handler ran; `EINVAL` before Linux 6.7.
    #[inline]
    pub fn wait(&mut self, value: u32) -> io::Result<()> {
        if !self.waiting {
            let word = self.memory.half_word(self.word).as_ptr();
            let entry = opcode::FutexWait::new(word, u64::from(value), ANY, self.flags).build();
            self.push(&entry)?;
            self.waiting = true;
        }
        self.ring.submit_and_wait(1)?;
        self.waiting = false;
        match self.completed() {
            // The word had changed already.
            Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => Ok(()),
            result => result,
        }
    }

    /// `IORING_OP_FUTEX_WAKE`: wakes one waiter.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/io_uring_enter.2.html>
    ///
    /// # Errors
    ///
    /// `EINVAL` before Linux 6.7.
    #[inline]
    pub fn wake(&mut self) -> io::Result<()> {
        let word = self.memory.half_word(self.word).as_ptr();
        let entry = opcode::FutexWake::new(word, 1, ANY, self.flags).build();
        self.push(&entry)?;
        self.ring.submit()?;
        self.completed()
    }

    #[inline]
    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: the word that the entry points to lives as long as self.memory, and the ring
        // is dropped before it (fields drop in order).
        let pushed = unsafe { self.ring.submission().push(entry) };
        pushed.map_err(|_| io::ErrorKind::WouldBlock.into())
    }

    /// The result of the completed entry, if any.
    #[inline]
    fn completed(&mut self) -> io::Result<()> {
        match self.ring.completion().next() {
            Some(entry) if entry.result() < 0 => Err(io::Error::from_raw_os_error(-entry.result())),
            _ => Ok(()),
        }
    }
}
