//! System V semaphores and message queues. Their ids outlive the process unless they are removed.

use std::io;
use std::ptr;

/// A System V IPC id that is removed on drop.
#[derive(Debug)]
pub enum SysvId {
    /// A set of one semaphore.
    Semaphore(i32),
    Queue(i32),
}

impl SysvId {
    /// `semget(IPC_PRIVATE, 1, 0600)`.
    ///
    /// # Errors
    ///
    /// `ENOSYS` without `CONFIG_SYSVIPC`, `ENOSPC` at the system's limit.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/semget.2.html>
    pub fn new_semaphore() -> io::Result<Self> {
        // SAFETY: takes three integers.
        let id = unsafe { libc::semget(libc::IPC_PRIVATE, 1, libc::IPC_CREAT | 0o600) };
        if id >= 0 { Ok(Self::Semaphore(id)) } else { Err(io::Error::last_os_error()) }
    }

    /// `msgget(IPC_PRIVATE, 0600)`.
    ///
    /// # Errors
    ///
    /// `ENOSYS` without `CONFIG_SYSVIPC`, `ENOSPC` at the system's limit.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/msgget.2.html>
    pub fn new_queue() -> io::Result<Self> {
        // SAFETY: takes two integers.
        let id = unsafe { libc::msgget(libc::IPC_PRIVATE, libc::IPC_CREAT | 0o600) };
        if id >= 0 { Ok(Self::Queue(id)) } else { Err(io::Error::last_os_error()) }
    }

    /// The id, which is valid in every process.
    pub const fn number(&self) -> i32 {
        match self {
            Self::Semaphore(id) | Self::Queue(id) => *id,
        }
    }
}

impl Drop for SysvId {
    fn drop(&mut self) {
        match *self {
            // SAFETY: IPC_RMID takes no further argument; a removed id gives EINVAL.
            Self::Semaphore(id) => unsafe { libc::semctl(id, 0, libc::IPC_RMID) },
            // SAFETY: IPC_RMID does not use the buffer; a removed id gives EINVAL.
            Self::Queue(id) => unsafe { libc::msgctl(id, libc::IPC_RMID, ptr::null_mut()) },
        };
    }
}

/// `semop(2)`: adds `change` to the semaphore; waits while that would make it negative.
///
/// Source: <https://man7.org/linux/man-pages/man2/semop.2.html>
///
/// # Errors
///
/// `Interrupted` when a signal handler ran, `EIDRM` when the id was removed.
#[inline]
pub fn change_semaphore(id: i32, change: i16) -> io::Result<()> {
    let mut operation = libc::sembuf { sem_num: 0, sem_op: change, sem_flg: 0 };
    // SAFETY: one operation is passed, and it outlives the call.
    let result = unsafe { libc::semop(id, &raw mut operation, 1) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[repr(C)]
struct QueueMessage {
    kind: libc::c_long,
    number: u64,
}

/// `msgsnd(2)` of a number.
///
/// Source: <https://man7.org/linux/man-pages/man2/msgop.2.html>
///
/// # Errors
///
/// `Interrupted` when a signal handler ran while the queue was full, `EIDRM` when the id was removed.
#[inline]
pub fn send(id: i32, number: u64) -> io::Result<()> {
    let message = QueueMessage { kind: 1, number };
    // SAFETY: the message begins with its type; the size is that of what follows.
    let result = unsafe { libc::msgsnd(id, (&raw const message).cast(), size_of::<u64>(), 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// `msgrcv(2)` of a number.
///
/// Source: <https://man7.org/linux/man-pages/man2/msgop.2.html>
///
/// # Errors
///
/// `Interrupted` when a signal handler ran, `EIDRM` when the id was removed.
#[inline]
pub fn receive(id: i32) -> io::Result<u64> {
    let mut message = QueueMessage { kind: 0, number: 0 };
    // SAFETY: the buffer has room for the type and the size that is passed.
    let got = unsafe { libc::msgrcv(id, (&raw mut message).cast(), size_of::<u64>(), 0, 0) };
    if got >= 0 { Ok(message.number) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_keeps_numbers_and_goes_with_its_id() {
        let queue = SysvId::new_queue().unwrap();
        let number = queue.number();
        send(number, 42).unwrap();
        assert_eq!(receive(number).unwrap(), 42);
        drop(queue);
        assert!(send(number, 43).is_err());
    }
}
