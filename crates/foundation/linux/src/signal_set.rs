//! Sets of signals, and which of them the calling thread keeps away.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;

/// A set of signals.
#[derive(Clone, Copy)]
pub(crate) struct SignalSet(libc::sigset_t);

impl SignalSet {
    /// Just one; `signal` must be one that this system has.
    pub(crate) fn only(signal: i32) -> Self {
        Self::of_all(&[signal])
    }

    /// Those; each must be one that this system has.
    pub(crate) fn of_all(signals: &[i32]) -> Self {
        let mut set = Self::made_by(libc::sigemptyset);
        for signal in signals {
            // SAFETY: the set is initialised, and the signal number is valid.
            unsafe { libc::sigaddset(&raw mut set.0, *signal) };
        }
        set
    }

    /// All but one; `signal` must be one that this system has.
    pub(crate) fn all_but(signal: i32) -> Self {
        let mut set = Self::made_by(libc::sigfillset);
        // SAFETY: the set is initialised, and the signal number is valid.
        unsafe { libc::sigdelset(&raw mut set.0, signal) };
        set
    }

    fn made_by(fill: unsafe extern "C" fn(*mut libc::sigset_t) -> i32) -> Self {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: sigemptyset and sigfillset initialise the set they are given.
        unsafe { fill(set.as_mut_ptr()) };
        // SAFETY: initialised above.
        Self(unsafe { set.assume_init() })
    }

    /// `pthread_sigmask(SIG_BLOCK)`: keeps these away from the calling thread as well, so that it can wait for them.
    pub(crate) fn block(&self) {
        self.mask(libc::SIG_BLOCK);
    }

    /// `pthread_sigmask(SIG_SETMASK)`: keeps these away from the calling thread, and no others.
    pub(crate) fn block_only(&self) {
        self.mask(libc::SIG_SETMASK);
    }

    /// Does `what` while these are kept away from the calling thread; those that come meanwhile are taken after it.
    pub(crate) fn while_blocked<T>(&self, what: impl FnOnce() -> T) -> T {
        let mut before = Self::made_by(libc::sigemptyset);
        // SAFETY: both sets are initialised and outlive the call.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const self.0, &raw mut before.0) };
        let done = what();
        before.block_only();
        done
    }

    fn mask(&self, how: i32) {
        // SAFETY: the set is initialised and outlives the call.
        unsafe { libc::pthread_sigmask(how, &raw const self.0, ptr::null_mut()) };
    }

    /// `sigwaitinfo(2)`: waits for one of them; what came with it is written to `info`, where that is wanted.
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

    /// For calls that take the set itself.
    pub(crate) const fn as_ptr(&self) -> *const libc::sigset_t {
        &raw const self.0
    }
}
