//! `getrusage(2)`: CPU time, page faults and context switches.

use std::mem::MaybeUninit;

use howlate_model::{Span, Usage};

/// `getrusage(RUSAGE_THREAD)`, since the thread began. `elapsed` stays 0.
///
/// Source: <https://man7.org/linux/man-pages/man2/getrusage.2.html>
pub fn of_this_thread() -> Usage {
    read(libc::RUSAGE_THREAD)
}

/// `getrusage(RUSAGE_CHILDREN)`: all children that ended and were waited for, and their descendants.
///
/// Source: <https://man7.org/linux/man-pages/man2/getrusage.2.html>
pub fn of_ended_children() -> Usage {
    read(libc::RUSAGE_CHILDREN)
}

fn read(target: i32) -> Usage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` has room for a rusage; the call fills it.
    unsafe { libc::getrusage(target, usage.as_mut_ptr()) };
    // SAFETY: zeroed is a valid rusage, whether or not the call succeeded.
    let usage = unsafe { usage.assume_init() };
    from_rusage(&usage)
}

pub(crate) fn from_rusage(usage: &libc::rusage) -> Usage {
    Usage {
        elapsed: Span::ZERO,
        user: span(usage.ru_utime),
        system: span(usage.ru_stime),
        minor_faults: usage.ru_minflt.unsigned_abs(),
        major_faults: usage.ru_majflt.unsigned_abs(),
        voluntary_switches: usage.ru_nvcsw.unsigned_abs(),
        involuntary_switches: usage.ru_nivcsw.unsigned_abs(),
    }
}

fn span(time: libc::timeval) -> Span {
    Span::from_micros(time.tv_sec.unsigned_abs() * 1_000_000 + time.tv_usec.unsigned_abs())
}
