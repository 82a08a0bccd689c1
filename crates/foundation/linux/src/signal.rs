//! Signal handling: the signal that ends a wait of a measuring thread, and the masks and handlers around it.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;

use crate::signal_set::SignalSet;

/// Makes a wait of the thread that receives it return `EINTR`.
fn wake_signal() -> i32 {
    // SIGRTMIN and the next few belong to the C library.
    libc::SIGRTMIN() + 7
}

extern "C" fn do_nothing(_: i32) {}

/// `sigaction(2)`: gives the wake-up signal an empty handler, without `SA_RESTART`.
///
/// Source: <https://man7.org/linux/man-pages/man2/sigaction.2.html>
pub fn prepare_wake_up() -> io::Result<()> {
    install_empty_handler(wake_signal())
}

fn install_empty_handler(signal: i32) -> io::Result<()> {
    // SAFETY: an all-zero sigaction is valid: no flags, an empty mask, SIG_DFL.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = do_nothing as extern "C" fn(i32) as usize;
    // SAFETY: the handler is async-signal-safe: it does nothing. `action` outlives the call.
    let result = unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// `sigaction(2)`: a write beyond the limit on the size of files (`ulimit -f`) fails with `EFBIG`, instead of
/// ending the program. Programs that are started begin with the usual `SIGXFSZ` again.
///
/// Source: <https://man7.org/linux/man-pages/man2/sigaction.2.html>
pub fn handle_file_size_limit() -> io::Result<()> {
    install_empty_handler(libc::SIGXFSZ)
}

/// `rt_sigaction(2)`: resets to `SIG_DFL` the two signals that glibc's `posix_spawn(3)` leaves ignored in its children, so
/// that programs started from here inherit the default. (They are reserved by the C library, for cancelling threads and for
/// changing all threads' user, and `sigaction(3)` refuses them.) Call it before there is a second thread: glibc installs its
/// handlers once it needs them.
///
/// Source: `__spawni_child` in glibc's `sysdeps/unix/sysv/linux/spawni.c`;
/// <https://man7.org/linux/man-pages/man7/nptl.7.html>
pub(crate) fn reset_libc_signals() {
    const RESERVED: [i32; 2] = [32, 33];
    /// The kernel's `sigset_t`.
    const SET_BYTES: usize = 8;
    // SIG_DFL, no flags, an empty mask; larger than any architecture's `struct sigaction`.
    let default_action = [0_usize; 8];
    for signal in RESERVED {
        // SAFETY: reads no more of `default_action` than the structure has, writes nothing, and sets no handler.
        let result = unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                default_action.as_ptr(),
                ptr::null_mut::<usize>(),
                SET_BYTES,
            )
        };
        debug_assert_eq!(result, 0, "signal {signal}");
    }
}

/// `tgkill(getpid(), tid, …)`: ends the wait that thread `tid` of this process is in, if any.
///
/// Source: <https://man7.org/linux/man-pages/man2/tgkill.2.html>
///
/// # Errors
///
/// `ESRCH` when the thread has ended.
pub fn wake_up(tid: u32) -> io::Result<()> {
    let pid = std::process::id();
    // SAFETY: passes three integers; a wrong tid gives ESRCH.
    let result = unsafe { libc::syscall(libc::SYS_tgkill, pid, tid, wake_signal()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// `pthread_sigmask(2)`: blocks every signal except the wake-up one in the calling thread.
///
/// Source: <https://man7.org/linux/man-pages/man3/pthread_sigmask.3.html>
pub fn block_all_but_wake_up() {
    SignalSet::all_but(wake_signal()).block_only();
}
