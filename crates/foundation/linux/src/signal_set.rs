//! Sets of signals, and the signal mask of the calling thread.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;

#[derive(Clone, Copy)]
pub(crate) struct SignalSet(libc::sigset_t);

impl SignalSet {
    /// `signal` must be a valid signal number.
    pub(crate) fn only(signal: i32) -> Self {
        Self::of_all(&[signal])
    }

    /// Each must be a valid signal number.
    pub(crate) fn of_all(signals: &[i32]) -> Self {
        let mut set = Self::filled_by(libc::sigemptyset);
        for signal in signals {
            // SAFETY: the set is initialised, and the signal number is valid.
            unsafe { libc::sigaddset(&raw mut set.0, *signal) };
        }
        set
    }

    /// All signals except `signal`, which must be a valid number.
    pub(crate) fn all_but(signal: i32) -> Self {
        let mut set = Self::filled_by(libc::sigfillset);
        // SAFETY: the set is initialised, and the signal number is valid.
        unsafe { libc::sigdelset(&raw mut set.0, signal) };
        set
    }

    fn filled_by(fill: unsafe extern "C" fn(*mut libc::sigset_t) -> i32) -> Self {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: sigemptyset and sigfillset initialise the set they are given.
        unsafe { fill(set.as_mut_ptr()) };
        // SAFETY: initialised above.
        Self(unsafe { set.assume_init() })
    }

    /// `pthread_sigmask(SIG_BLOCK)`: adds these to the signals blocked in the calling thread, so that it can wait for them.
    pub(crate) fn block(&self) {
        self.mask(libc::SIG_BLOCK);
    }

    /// `pthread_sigmask(SIG_SETMASK)`: blocks exactly these in the calling thread.
    pub(crate) fn block_only(&self) {
        self.mask(libc::SIG_SETMASK);
    }

    /// Runs `work` while these are blocked in the calling thread; those that arrive meanwhile are delivered after it.
    pub(crate) fn while_blocked<T>(&self, work: impl FnOnce() -> T) -> T {
        let mut before = Self::filled_by(libc::sigemptyset);
        // SAFETY: both sets are initialised and outlive the call.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const self.0, &raw mut before.0) };
        let result = work();
        before.block_only();
        result
    }

    fn mask(&self, how: i32) {
        // SAFETY: the set is initialised and outlives the call.
        unsafe { libc::pthread_sigmask(how, &raw const self.0, ptr::null_mut()) };
    }

    /// `sigwaitinfo(2)`: waits for one of them, and fills `info` where given.
    ///
    /// # Errors
    ///
    /// `Interrupted` when a handler of another signal ran.
    #[inline]
    pub(crate) fn wait(&self, info: Option<&mut MaybeUninit<libc::siginfo_t>>) -> io::Result<()> {
        let info = info.map_or(ptr::null_mut(), MaybeUninit::as_mut_ptr);
        // SAFETY: the set is initialised; `info` is null or has room for a siginfo_t.
        let signal = unsafe { libc::sigwaitinfo(&raw const self.0, info) };
        if signal > 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    pub(crate) const fn as_ptr(&self) -> *const libc::sigset_t {
        &raw const self.0
    }
}
