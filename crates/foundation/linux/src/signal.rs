//! Signals to measuring threads: one that ends a wait, and none that disturbs it.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;

use crate::signal_set::SignalSet;

/// The signal that makes a waiting thread return with `EINTR`.
fn wake_signal() -> i32 {
    // SIGRTMIN and the next few belong to the C library.
    libc::SIGRTMIN() + 7
}

extern "C" fn do_nothing(_: i32) {}

/// `sigaction(2)`: gives the wake-up signal a handler that does nothing, without `SA_RESTART`.
///
/// Source: <https://man7.org/linux/man-pages/man2/sigaction.2.html>
pub fn prepare_wake_up() -> io::Result<()> {
    handle_by_nothing(wake_signal())
}

fn handle_by_nothing(signal: i32) -> io::Result<()> {
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
pub fn make_file_limit_an_error() -> io::Result<()> {
    handle_by_nothing(libc::SIGXFSZ)
}

/// `rt_sigaction(2)`: gives the two signals that glibc's `posix_spawn(3)` leaves ignored in what it starts their usual
/// meaning again, so that programs which this one starts in turn begin as any do. (They are the C library's own, for
/// cancelling threads and for changing all threads' user, and `sigaction(3)` refuses them.) Before there is a second
/// thread, as they have handlers once they are needed.
///
/// Source: `__spawni_child` in glibc's `sysdeps/unix/sysv/linux/spawni.c`;
/// <https://man7.org/linux/man-pages/man7/nptl.7.html>
pub(crate) fn unignore_those_of_the_c_library() {
    const OF_THE_LIBRARY: [i32; 2] = [32, 33];
    /// The kernel's `sigset_t`.
    const SET_BYTES: usize = 8;
    // SIG_DFL, no flags, an empty mask; larger than any architecture's `struct sigaction`.
    let usual = [0_usize; 8];
    for signal in OF_THE_LIBRARY {
        // SAFETY: reads no more of `usual` than the structure has, writes nothing, and sets no handler.
        let refused = unsafe {
            libc::syscall(libc::SYS_rt_sigaction, signal, usual.as_ptr(), ptr::null_mut::<usize>(), SET_BYTES)
        };
        debug_assert_eq!(refused, 0, "signal {signal}");
    }
}

/// `tgkill(getpid(), tid, …)`: ends the wait that thread `tid` of this process is in, if any.
///
/// Source: <https://man7.org/linux/man-pages/man2/tgkill.2.html>
///
/// # Errors
///
/// `ESRCH` when the thread is gone.
pub fn wake_up(tid: u32) -> io::Result<()> {
    let pid = std::process::id();
    // SAFETY: passes three integers; a wrong tid gives ESRCH.
    let result = unsafe { libc::syscall(libc::SYS_tgkill, pid, tid, wake_signal()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// `pthread_sigmask(2)`: keeps every signal but the wake-up one away from the calling thread.
///
/// Source: <https://man7.org/linux/man-pages/man3/pthread_sigmask.3.html>
pub fn block_all_but_wake_up() {
    SignalSet::all_but(wake_signal()).block_only();
}
