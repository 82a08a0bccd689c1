//! Real-time signals that carry a number from one thread to another.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd};

use crate::signal_set::SignalSet;

/// Each lane (direction) has its own signal.
fn signal_number(lane: usize) -> i32 {
    // SIGRTMIN and the next few belong to the C library, +7 and +8 to `signal` and `posix_timer`.
    libc::SIGRTMIN() + 9 + i32::from(lane > 0)
}

/// `siginfo_t` as `rt_tgsigqueueinfo(2)` reads it for `SI_QUEUE`.
#[repr(C)]
struct Info {
    signal: i32,
    error: i32,
    code: i32,
    _padding: i32,
    pid: i32,
    uid: u32,
    value: u64,
    _rest: [u64; 12],
}

const _: () = assert!(size_of::<Info>() == size_of::<libc::siginfo_t>());

/// `rt_tgsigqueueinfo(pid, tid, …)`: queues the signal of `lane` for a thread, with a number.
///
/// # Errors
///
/// `ESRCH` when the thread has ended, `EAGAIN` at the limit `RLIMIT_SIGPENDING`, `EPERM` when it
/// belongs to another user.
///
/// Source: <https://man7.org/linux/man-pages/man2/rt_sigqueueinfo.2.html>
#[inline]
pub fn queue(pid: u32, tid: u32, lane: usize, value: u64) -> io::Result<()> {
    let signal = signal_number(lane);
    let info =
        Info { signal, error: 0, code: libc::SI_QUEUE, _padding: 0, pid: 0, uid: 0, value, _rest: [0; 12] };
    // SAFETY: `info` has the size and layout of a siginfo_t and outlives the call.
    let result = unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, pid, tid, signal, &raw const info) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The signal of one lane, blocked in the thread that waits for it.
pub struct QueuedSignal {
    signals: SignalSet,
}

impl QueuedSignal {
    /// `pthread_sigmask(SIG_BLOCK)`: blocks the signal in the calling thread, so that it can wait for it.
    ///
    /// Source: <https://man7.org/linux/man-pages/man3/pthread_sigmask.3.html>
    pub fn block(lane: usize) -> Self {
        let signals = SignalSet::only(signal_number(lane));
        signals.block();
        Self { signals }
    }

    /// `sigwaitinfo(2)`: waits for the signal and returns its number.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/sigwaitinfo.2.html>
    ///
    /// # Errors
    ///
    /// `Interrupted` when a handler of another signal ran.
    #[inline]
    pub fn wait(&self) -> io::Result<u64> {
        let mut info = MaybeUninit::zeroed();
        self.signals.wait(Some(&mut info))?;
        // SAFETY: an `Info` is a siginfo_t of the same size, made of integers; zeroed or filled, both are valid.
        Ok(unsafe { info.as_ptr().cast::<Info>().read() }.value)
    }

    /// `signalfd(2)`: a descriptor to read the signals from; [`read_value`] finds the number.
    ///
    /// # Errors
    ///
    /// `EMFILE` when too many files are open.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/signalfd.2.html>
    pub fn descriptor(&self) -> io::Result<OwnedFd> {
        // SAFETY: the set is initialised; -1 asks for a new descriptor.
        let descriptor = unsafe { libc::signalfd(-1, self.signals.as_ptr(), libc::SFD_CLOEXEC) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: new, so it has no other owner.
        Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
    }
}

/// Bytes of one signal read from a signalfd.
pub const READ_SIZE: usize = size_of::<libc::signalfd_siginfo>();

/// The number in a `signalfd_siginfo`.
///
/// Source: <https://man7.org/linux/man-pages/man2/signalfd.2.html>
#[inline]
pub fn read_value(read: &[u8; READ_SIZE]) -> u64 {
    const AT: usize = std::mem::offset_of!(libc::signalfd_siginfo, ssi_ptr);
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&read[AT..AT + 8]);
    u64::from_ne_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_carries_its_number_both_ways_of_reading() {
        let signal = QueuedSignal::block(0);
        let (pid, tid) = (std::process::id(), crate::thread::id());
        queue(pid, tid, 0, 0x1234_5678_9abc).unwrap();
        assert_eq!(signal.wait().unwrap(), 0x1234_5678_9abc);
        let descriptor = signal.descriptor().unwrap();
        queue(pid, tid, 0, 77).unwrap();
        let mut read = [0; READ_SIZE];
        assert_eq!(rustix::io::read(&descriptor, &mut read).unwrap(), READ_SIZE);
        assert_eq!(read_value(&read), 77);
    }
}
