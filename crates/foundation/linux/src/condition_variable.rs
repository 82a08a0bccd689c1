//! A condition variable with its mutex in shared memory.

use std::io;
use std::mem::MaybeUninit;
use std::ptr::{NonNull, addr_of_mut};
use std::sync::Arc;

use crate::shared_memory::SharedMemory;

#[repr(C, align(64))]
struct MutexAndCondition {
    mutex: libc::pthread_mutex_t,
    condition: libc::pthread_cond_t,
}

/// The condition variable of one lane (direction) of shared memory.
pub struct ConditionVariable {
    memory: Arc<SharedMemory>,
    lane: usize,
}

impl ConditionVariable {
    /// `pthread_mutex_init(3)` and `pthread_cond_init(3)`: call once, before any `attach`.
    ///
    /// # Errors
    ///
    /// `ENOTSUP` where the C library cannot share them between processes.
    ///
    /// Source: <https://man7.org/linux/man-pages/man3/pthread_cond_init.3.html>
    pub fn init(memory: &Arc<SharedMemory>, lane: usize, processes: bool) -> io::Result<()> {
        let scope = if processes { libc::PTHREAD_PROCESS_SHARED } else { libc::PTHREAD_PROCESS_PRIVATE };
        let pair = memory.object::<MutexAndCondition>(lane);
        init_mutex(pair, scope)?;
        init_condition(pair, scope)
    }

    /// The condition variable that [`ConditionVariable::init`] initialised.
    pub const fn attach(memory: Arc<SharedMemory>, lane: usize) -> Self {
        Self { memory, lane }
    }

    fn mutex(&self) -> *mut libc::pthread_mutex_t {
        mutex(self.memory.object(self.lane))
    }

    fn condition(&self) -> *mut libc::pthread_cond_t {
        condition(self.memory.object(self.lane))
    }

    /// `pthread_mutex_lock(3)`, `change`, `pthread_mutex_unlock(3)`, `pthread_cond_signal(3)`.
    ///
    /// Source: <https://man7.org/linux/man-pages/man3/pthread_cond_signal.3p.html>
    #[inline]
    pub fn signal_after(&self, change: impl FnOnce()) -> io::Result<()> {
        // SAFETY: initialised before it was attached to; unlocked below.
        checked(unsafe { libc::pthread_mutex_lock(self.mutex()) })?;
        change();
        // SAFETY: locked above, by this thread.
        checked(unsafe { libc::pthread_mutex_unlock(self.mutex()) })?;
        // SAFETY: initialised before it was attached to.
        checked(unsafe { libc::pthread_cond_signal(self.condition()) })
    }

    /// `pthread_cond_wait(3)` until `is_over`, which is called with the mutex held.
    ///
    /// Source: <https://man7.org/linux/man-pages/man3/pthread_cond_wait.3p.html>
    #[inline]
    pub fn wait_until(&self, is_over: impl Fn() -> bool) -> io::Result<()> {
        // SAFETY: initialised before it was attached to; unlocked below.
        checked(unsafe { libc::pthread_mutex_lock(self.mutex()) })?;
        while !is_over() {
            // SAFETY: the mutex is held by this thread.
            checked(unsafe { libc::pthread_cond_wait(self.condition(), self.mutex()) })?;
        }
        // SAFETY: held since the lock above or the last wait.
        checked(unsafe { libc::pthread_mutex_unlock(self.mutex()) })
    }
}

fn mutex(pair: NonNull<MutexAndCondition>) -> *mut libc::pthread_mutex_t {
    // SAFETY: takes an address within the object; nothing is read.
    unsafe { addr_of_mut!((*pair.as_ptr()).mutex) }
}

fn condition(pair: NonNull<MutexAndCondition>) -> *mut libc::pthread_cond_t {
    // SAFETY: takes an address within the object; nothing is read.
    unsafe { addr_of_mut!((*pair.as_ptr()).condition) }
}

fn init_mutex(pair: NonNull<MutexAndCondition>, scope: i32) -> io::Result<()> {
    let mut attributes = MaybeUninit::<libc::pthread_mutexattr_t>::uninit();
    // SAFETY: initialises the attributes it is given.
    checked(unsafe { libc::pthread_mutexattr_init(attributes.as_mut_ptr()) })?;
    // SAFETY: initialised above.
    checked(unsafe { libc::pthread_mutexattr_setpshared(attributes.as_mut_ptr(), scope) })?;
    // SAFETY: the place is large enough and aligned, and it is not in use yet.
    checked(unsafe { libc::pthread_mutex_init(mutex(pair), attributes.as_ptr()) })
}

fn init_condition(pair: NonNull<MutexAndCondition>, scope: i32) -> io::Result<()> {
    let mut attributes = MaybeUninit::<libc::pthread_condattr_t>::uninit();
    // SAFETY: initialises the attributes it is given.
    checked(unsafe { libc::pthread_condattr_init(attributes.as_mut_ptr()) })?;
    // SAFETY: initialised above.
    checked(unsafe { libc::pthread_condattr_setpshared(attributes.as_mut_ptr(), scope) })?;
    // SAFETY: the place is large enough and aligned, and it is not in use yet.
    checked(unsafe { libc::pthread_cond_init(condition(pair), attributes.as_ptr()) })
}

/// The pthread functions return the error instead of setting `errno`.
#[inline]
fn checked(result: i32) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(result)) }
}
