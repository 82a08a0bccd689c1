//! A POSIX semaphore in shared memory.

use std::io;
use std::sync::Arc;

use crate::shared_memory::SharedMemory;

/// The semaphore of one lane (direction) of shared memory.
pub struct Semaphore {
    memory: Arc<SharedMemory>,
    lane: usize,
}

impl Semaphore {
    /// `sem_init(sem, shared, 0)`: call once, before any `attach`.
    ///
    /// # Errors
    ///
    /// `ENOSYS` where the C library cannot share semaphores between processes.
    ///
    /// Source: <https://man7.org/linux/man-pages/man3/sem_init.3.html>
    pub fn init(memory: &Arc<SharedMemory>, lane: usize, processes: bool) -> io::Result<()> {
        let semaphore = memory.object::<libc::sem_t>(lane);
        // SAFETY: the place is large enough and aligned; it is not in use yet.
        let result = unsafe { libc::sem_init(semaphore.as_ptr(), i32::from(processes), 0) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// The semaphore that [`Semaphore::init`] initialised.
    pub const fn attach(memory: Arc<SharedMemory>, lane: usize) -> Self {
        Self { memory, lane }
    }

    /// `sem_post(3)`.
    ///
    /// Source: <https://man7.org/linux/man-pages/man3/sem_post.3.html>
    ///
    /// # Errors
    ///
    /// `EOVERFLOW` after 2³¹ − 1 posts without a wait.
    #[inline]
    pub fn post(&self) -> io::Result<()> {
        // SAFETY: initialised before it was attached to, and mapped as long as self lives.
        let result = unsafe { libc::sem_post(self.memory.object(self.lane).as_ptr()) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// `sem_wait(3)`.
    ///
    /// Source: <https://man7.org/linux/man-pages/man3/sem_wait.3.html>
    ///
    /// # Errors
    ///
    /// `Interrupted` when a signal handler ran.
    #[inline]
    pub fn wait(&self) -> io::Result<()> {
        // SAFETY: initialised before it was attached to, and mapped as long as self lives.
        let result = unsafe { libc::sem_wait(self.memory.object(self.lane).as_ptr()) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}
