//! Forked processes, their CPU time, and resource limits.

use std::io;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};

use howlate_model::Span;
use rustix::process::{Resource, Rlimit, getpid, setrlimit};

use crate::parent::die_with;

/// `getrlimit(2)`: the soft and the hard limit; `None` is unlimited.
///
/// # Errors
///
/// `EPERM` or `ENOSYS` where a filter of system calls refuses it, at which rustix's function panics.
///
/// Source: <https://man7.org/linux/man-pages/man2/getrlimit.2.html>
pub fn limit(resource: Resource) -> io::Result<Rlimit> {
    let mut limit = MaybeUninit::<libc::rlimit>::zeroed();
    // SAFETY: `limit` has room for what the call writes; a wrong number gives EINVAL.
    if unsafe { libc::getrlimit(resource as libc::c_uint as _, limit.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: zeroed is a valid rlimit, and the call has filled it.
    let limit = unsafe { limit.assume_init() };
    let finite = |value| (value != libc::RLIM_INFINITY).then_some(value);
    Ok(Rlimit { current: finite(limit.rlim_cur), maximum: finite(limit.rlim_max) })
}

/// Soft limits on `RLIMIT_RTTIME` around [`raise_rttime_limit`]; `None` is unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttimeLimit {
    pub before: Option<Span>,
    pub now: Option<Span>,
}

impl RttimeLimit {
    /// Whether the limit changed.
    pub fn is_raised(&self) -> bool {
        self.before != self.now
    }
}

/// Soft limit on `RLIMIT_RTTIME` of this process; `None` if unlimited, or if the call is refused.
pub fn rttime_limit() -> Option<Span> {
    limit(Resource::Rttime).ok().and_then(|limit| limit.current).map(Span::from_micros)
}

/// Raises `RLIMIT_RTTIME` of this process, how long a real-time thread may run without a call that blocks, as far as this process
/// may: without limit with `CAP_SYS_RESOURCE`, else to the hard limit. Processes that it starts inherit it.
///
/// # Errors
///
/// Where a filter of system calls refuses it.
///
/// Source: <https://man7.org/linux/man-pages/man2/getrlimit.2.html>
pub fn raise_rttime_limit() -> io::Result<RttimeLimit> {
    let before = limit(Resource::Rttime)?;
    if before.current.is_some() {
        let unlimited = Rlimit { current: None, maximum: None };
        let to_hard = Rlimit { current: before.maximum, maximum: before.maximum };
        setrlimit(Resource::Rttime, unlimited).or_else(|_| setrlimit(Resource::Rttime, to_hard))?;
    }
    let now = limit(Resource::Rttime)?;
    let span = |limit: Option<u64>| limit.map(Span::from_micros);
    Ok(RttimeLimit { before: span(before.current), now: span(now.current) })
}

/// Exit status of a child whose function panicked; that of Rust programs.
const PANICKED: i32 = 101;

/// `fork(2)`: a child that runs `work` and ends with the status it returns. It is killed when the
/// calling thread ends. Returns the child's process id.
///
/// # Errors
///
/// `EAGAIN` at a limit on processes, `ENOMEM`; `Unsupported` in a process with several threads, because the
/// child would be left with the locks of threads that it does not have.
///
/// Source: <https://man7.org/linux/man-pages/man2/fork.2.html>
pub fn fork(work: impl FnOnce() -> i32) -> io::Result<u32> {
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "only a process with one thread can be forked",
        ));
    }
    let parent = getpid();
    // SAFETY: this is the only thread, as was checked, so the child has a whole process.
    match unsafe { libc::fork() } {
        0 => {
            let dies_with_parent = die_with(parent).is_ok();
            end(if dies_with_parent {
                catch_unwind(AssertUnwindSafe(work)).unwrap_or(PANICKED)
            } else {
                PANICKED
            })
        }
        -1 => Err(io::Error::last_os_error()),
        child => Ok(child.unsigned_abs()),
    }
}

/// `fork(2)`: a child that ends at once. Returns its process id.
///
/// Source: <https://man7.org/linux/man-pages/man2/fork.2.html>
///
/// # Errors
///
/// `EAGAIN` at a limit on processes, `ENOMEM`.
pub fn fork_and_end() -> io::Result<u32> {
    // SAFETY: the child only calls `_exit`, which may be called after a fork of any process.
    match unsafe { libc::fork() } {
        0 => end(0),
        -1 => Err(io::Error::last_os_error()),
        child => Ok(child.unsigned_abs()),
    }
}

fn end(status: i32) -> ! {
    // SAFETY: ends this process at once, without running what the parent has registered for its own end.
    unsafe { libc::_exit(status) }
}

/// `clock_getcpuclockid(3)`: the CPU time of process `pid`, all its threads together, ended ones included.
///
/// # Errors
///
/// `ESRCH` when there is no such process.
///
/// Source: <https://man7.org/linux/man-pages/man3/clock_getcpuclockid.3.html>
pub fn cpu_time(pid: u32) -> io::Result<Span> {
    let pid = i32::try_from(pid).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut clock: libc::clockid_t = 0;
    // SAFETY: `clock` has room for a clock id.
    let error = unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) };
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error));
    }
    let mut time = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: `time` has room for a timespec.
    if unsafe { libc::clock_gettime(clock, time.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so it has written the time.
    let time = unsafe { time.assume_init() };
    Ok(Span::from_nanos(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_time_of_a_process_grows_with_its_work() {
        let before = cpu_time(std::process::id()).unwrap();
        let mut state = 1_u64;
        while cpu_time(std::process::id()).unwrap() <= before.plus(Span::from_millis(2)) {
            state = std::hint::black_box(state.wrapping_mul(3));
        }
        // Linux has no process id above 2^22.
        assert!(cpu_time((1 << 22) + 1).is_err());
    }

    #[test]
    fn a_process_with_several_threads_is_not_forked() {
        // Tests run in threads of their own.
        let refused = std::thread::spawn(|| fork(|| 0).map_err(|error| error.kind())).join().unwrap();
        assert_eq!(refused, Err(io::ErrorKind::Unsupported));
    }

    #[test]
    fn a_limit_on_real_time_threads_is_raised_as_far_as_it_goes() {
        // It applies to the whole test process, so it is restored; usually it is unlimited.
        let was = limit(Resource::Rttime).unwrap();
        let low = Rlimit { current: Some(3_600_000_000), maximum: was.maximum };
        setrlimit(Resource::Rttime, low).unwrap();
        let raised = raise_rttime_limit().unwrap();
        assert_eq!(raised.before, Some(Span::from_secs(3_600)));
        assert!(
            raised.is_raised() && raised.now.is_none_or(|now| was.maximum == Some(now.as_nanos() / 1_000))
        );
        assert!(!raise_rttime_limit().unwrap().is_raised(), "there is nothing more to raise");
        setrlimit(Resource::Rttime, was).unwrap();
    }

    #[test]
    fn a_child_that_ends_at_once_is_reaped() {
        let child = fork_and_end().unwrap();
        let pid = rustix::process::Pid::from_raw(i32::try_from(child).unwrap());
        let options = rustix::process::WaitOptions::empty();
        let (_, status) = rustix::process::waitpid(pid, options).unwrap().unwrap();
        assert_eq!(status.exit_status(), Some(0));
    }
}
