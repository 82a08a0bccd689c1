//! Scheduling policy and affinity. Raw calls: the C libraries either hide or stub them.

use std::io;

use howlate_model::{CpuSet, Nice, Policy, Priority, Span};
use rustix::thread::{Pid, sched_getaffinity, sched_setaffinity};

/// `SCHED_OTHER` … `SCHED_DEADLINE` of `<linux/sched.h>`.
pub(crate) mod number {
    pub(crate) const OTHER: u32 = 0;
    pub(crate) const FIFO: u32 = 1;
    pub(crate) const RR: u32 = 2;
    pub(crate) const BATCH: u32 = 3;
    pub(crate) const IDLE: u32 = 5;
    pub(crate) const DEADLINE: u32 = 6;
    /// Since Linux 6.12; `sched(7)` does not list it: `include/uapi/linux/sched.h`.
    pub(crate) const EXT: u32 = 7;
}

/// The calling thread, for [`set_policy`], [`policy`], [`bind_thread`] and [`affinity_of`].
pub const THIS_THREAD: u32 = 0;

/// `sched_setattr(tid, attr, 0)`: changes a thread's policy. `tid` 0 is the calling thread.
///
/// # Errors
///
/// `EPERM` without the right (`CAP_SYS_NICE`, `RLIMIT_RTPRIO`, `RLIMIT_NICE`), in a cgroup
/// without real-time runtime, or for a deadline thread bound to some CPUs only;
/// `EBUSY` when deadline admission fails.
///
/// Source: <https://man7.org/linux/man-pages/man2/sched_setattr.2.html>
pub fn set_policy(tid: u32, policy: Policy) -> io::Result<()> {
    set_attr(tid, &attr_for(tid, policy)?)
}

/// `sched_setattr(tid, attr, 0)`
pub(crate) fn set_attr(tid: u32, attr: &libc::sched_attr) -> io::Result<()> {
    // SAFETY: `attr` is a valid sched_attr whose `size` field states its own size,
    // and it outlives the call.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, tid, &raw const *attr, 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// [`set_slice_of`] the calling thread.
///
pub fn set_slice(slice: Span) -> io::Result<()> {
    set_slice_of(THIS_THREAD, slice)
}

/// `sched_setattr(tid, attr, 0)` with `sched_runtime`: requests a slice of the fair scheduler; policy and nice value stay as
/// they are. Kernels before 6.12 accept it and do nothing; see [`slice()`].
///
/// # Errors
///
/// `InvalidInput` under a policy that has no slices.
///
/// Source: Linux commit 857b158dc5e8; kernel/sched/syscalls.c, `__setparam_fair`
pub fn set_slice_of(tid: u32, slice: Span) -> io::Result<()> {
    let mut attr = get_attr(tid)?;
    if !matches!(attr.sched_policy, number::OTHER | number::BATCH) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "this policy has no slices"));
    }
    (attr.size, attr.sched_runtime) = (SCHED_ATTR_SIZE_VER0, slice.as_nanos());
    set_attr(tid, &attr)
}

/// [`slice_of`] the calling thread.
///
/// # Errors
///
/// Those of `sched_getattr(2)`.
pub fn slice() -> io::Result<Option<Span>> {
    slice_of(THIS_THREAD)
}

/// `sched_getattr(tid, …)`: the slice that the fair scheduler gives a thread; `None` where the kernel does not report it, or
/// the policy has none.
///
/// # Errors
///
/// `ESRCH` when there is no such thread.
///
/// Source: <https://man7.org/linux/man-pages/man2/sched_setattr.2.html>
pub fn slice_of(tid: u32) -> io::Result<Option<Span>> {
    let attr = get_attr(tid)?;
    let is_fair = matches!(attr.sched_policy, number::OTHER | number::BATCH);
    Ok((is_fair && attr.sched_runtime > 0).then(|| Span::from_nanos(attr.sched_runtime)))
}

/// `sched_getattr(tid, …)`: the policy in force, with its nice value.
///
/// Source: <https://man7.org/linux/man-pages/man2/sched_setattr.2.html>
///
/// # Errors
///
/// `ESRCH` when there is no such thread; `Unsupported` for a policy unknown here.
pub fn policy(tid: u32) -> io::Result<Policy> {
    let attr = get_attr(tid)?;
    if attr.sched_policy == number::DEADLINE {
        return Ok(Policy::Deadline {
            runtime: Span::from_nanos(attr.sched_runtime),
            deadline_period: Span::from_nanos(attr.sched_period),
        });
    }
    policy_of(attr.sched_policy, attr.sched_priority, attr.sched_nice).ok_or_else(|| unknown(&attr))
}

/// The policy with this number in the kernel's `sched.h`; `None` for those with further parameters, and unknown ones.
///
/// Source: <https://man7.org/linux/man-pages/man7/sched.7.html>
pub fn policy_of(policy: u32, priority: u32, nice: i32) -> Option<Policy> {
    let priority = Priority::new(priority);
    match policy {
        number::OTHER => Some(Policy::Other { nice: Nice::new(nice) }),
        number::BATCH => Some(Policy::Batch),
        number::IDLE => Some(Policy::Idle),
        number::EXT => Some(Policy::Ext),
        number::FIFO => priority.map(|priority| Policy::Fifo { priority }),
        number::RR => priority.map(|priority| Policy::Rr { priority }),
        _ => None,
    }
}

fn unknown(attr: &libc::sched_attr) -> io::Error {
    let text = format!("scheduling policy {} is not known to this program", attr.sched_policy);
    io::Error::new(io::ErrorKind::Unsupported, text)
}

fn attr_for(tid: u32, policy: Policy) -> io::Result<libc::sched_attr> {
    let mut attr = empty_attr();
    match policy {
        Policy::Other { nice: Some(nice) } => attr.sched_nice = nice.get(),
        Policy::Other { nice: None } => attr.sched_nice = get_attr(tid)?.sched_nice,
        Policy::Batch | Policy::Ext => {
            attr.sched_policy = if policy == Policy::Ext { number::EXT } else { number::BATCH };
            attr.sched_nice = get_attr(tid)?.sched_nice;
        }
        Policy::Idle => attr.sched_policy = number::IDLE,
        Policy::Fifo { priority } => {
            attr.sched_policy = number::FIFO;
            attr.sched_priority = priority.get();
        }
        Policy::Rr { priority } => {
            attr.sched_policy = number::RR;
            attr.sched_priority = priority.get();
        }
        Policy::Deadline { runtime, deadline_period } => {
            attr.sched_policy = number::DEADLINE;
            attr.sched_runtime = runtime.as_nanos();
            attr.sched_deadline = deadline_period.as_nanos();
            attr.sched_period = deadline_period.as_nanos();
        }
    }
    Ok(attr)
}

/// Size of `sched_attr` in its first published version, which every kernel accepts.
const SCHED_ATTR_SIZE_VER0: u32 = 48;

pub(crate) const fn empty_attr() -> libc::sched_attr {
    libc::sched_attr {
        size: SCHED_ATTR_SIZE_VER0,
        sched_policy: number::OTHER,
        sched_flags: 0,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: 0,
        sched_deadline: 0,
        sched_period: 0,
    }
}

pub(crate) fn get_attr(tid: u32) -> io::Result<libc::sched_attr> {
    let mut attr = empty_attr();
    // SAFETY: `attr` has room for SCHED_ATTR_SIZE_VER0 bytes, the size that is passed.
    let result =
        unsafe { libc::syscall(libc::SYS_sched_getattr, tid, &raw mut attr, SCHED_ATTR_SIZE_VER0, 0) };
    if result == 0 { Ok(attr) } else { Err(io::Error::last_os_error()) }
}

/// `sched_setaffinity(0, …)`: binds the calling thread to `cpus`.
///
/// Source: <https://man7.org/linux/man-pages/man2/sched_setaffinity.2.html>
///
/// # Errors
///
/// `EINVAL` when none of them is online and allowed; a CPU above 1023 cannot be named.
pub fn bind(cpus: &CpuSet) -> io::Result<()> {
    bind_thread(THIS_THREAD, cpus)
}

/// `sched_setaffinity(tid, …)`: binds a thread of any process to `cpus`. `tid` 0 is the
/// calling thread.
///
/// Source: <https://man7.org/linux/man-pages/man2/sched_setaffinity.2.html>
///
/// # Errors
///
/// As [`bind`]; `EPERM` for another user's thread, `ESRCH` when it has ended.
pub fn bind_thread(tid: u32, cpus: &CpuSet) -> io::Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    for cpu in cpus.iter() {
        let cpu = cpu as usize;
        if cpu >= rustix::thread::CpuSet::MAX_CPU {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        set.set(cpu);
    }
    sched_setaffinity(pid(tid), &set)?;
    Ok(())
}

/// `None` (the calling thread) for 0.
fn pid(tid: u32) -> Option<Pid> {
    Pid::from_raw(tid.cast_signed())
}

/// `sched_getaffinity(0, …)`: where the calling thread may run.
///
/// Source: <https://man7.org/linux/man-pages/man2/sched_setaffinity.2.html>
pub fn affinity() -> io::Result<CpuSet> {
    affinity_of(THIS_THREAD)
}

/// `sched_getaffinity(tid, …)`: where a thread may run. `tid` 0 is the calling thread.
///
/// Source: <https://man7.org/linux/man-pages/man2/sched_setaffinity.2.html>
///
/// # Errors
///
/// `ESRCH` when it has ended.
pub fn affinity_of(tid: u32) -> io::Result<CpuSet> {
    let set = sched_getaffinity(pid(tid))?;
    let cpus = 0..u32::try_from(rustix::thread::CpuSet::MAX_CPU).unwrap_or(u32::MAX);
    Ok(cpus.filter(|cpu| set.is_set(*cpu as usize)).collect())
}

/// CPUs to which a thread of this process may be bound, whatever mask it inherited: those online and in its
/// cpuset. They include isolated CPUs, which no default mask holds.
///
/// Found by trial: a thread binds itself to every CPU and reads back its affinity.
///
/// # Errors
///
/// `EPERM` where a seccomp filter forbids the call, `EAGAIN` where no thread can be started.
///
/// Source: <https://man7.org/linux/man-pages/man2/sched_setaffinity.2.html>, notes on cpusets
pub fn bindable_cpus() -> io::Result<CpuSet> {
    let every = (0..u32::try_from(rustix::thread::CpuSet::MAX_CPU).unwrap_or(0)).collect::<CpuSet>();
    let probe = std::thread::Builder::new().spawn(move || bind(&every).and_then(|()| affinity()))?;
    probe.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    // The kernel's struct begins with these 48 bytes in this order; <linux/sched/types.h>.
    const _: () = assert!(std::mem::size_of::<libc::sched_attr>() >= 48);
    const _: () = assert!(std::mem::offset_of!(libc::sched_attr, sched_runtime) == 24);
    const _: () = assert!(std::mem::offset_of!(libc::sched_attr, sched_period) == 40);

    #[test]
    fn a_slice_is_read_back_where_the_kernel_has_slices() {
        let (before, after) = std::thread::spawn(|| {
            let before = slice().unwrap();
            set_slice(Span::from_micros(700)).unwrap();
            (before, slice().unwrap())
        })
        .join()
        .unwrap();
        assert_eq!(after, before.map(|_| Span::from_micros(700)));
        let refused = std::thread::spawn(|| {
            set_policy(THIS_THREAD, Policy::Idle).unwrap();
            (set_slice(Span::from_micros(700)).is_err(), slice().unwrap())
        });
        assert_eq!(refused.join().unwrap(), (true, None));
    }

    #[test]
    fn unprivileged_policies_are_applied_and_read_back() {
        for requested in [Policy::Batch, Policy::Idle] {
            let result = std::thread::spawn(move || {
                set_policy(THIS_THREAD, requested).unwrap();
                policy(THIS_THREAD).unwrap()
            });
            assert_eq!(result.join().unwrap(), requested);
        }
    }

    #[test]
    fn a_thread_can_be_bound_to_each_cpu_it_may_use() {
        let allowed = affinity().unwrap();
        for cpu in allowed.iter() {
            let mask = CpuSet::from_iter([cpu]);
            let result = std::thread::spawn({
                let mask = mask.clone();
                move || bind(&mask).and_then(|()| affinity()).unwrap()
            });
            assert_eq!(result.join().unwrap(), mask);
        }
    }

    #[test]
    fn an_inherited_mask_hides_no_cpu() {
        let before = affinity().unwrap();
        let (inherited, found) = std::thread::spawn({
            let first = before.iter().next().unwrap();
            move || {
                bind(&CpuSet::from_iter([first])).unwrap();
                let found = bindable_cpus().unwrap();
                (affinity().unwrap(), found)
            }
        })
        .join()
        .unwrap();
        assert_eq!(inherited.len(), 1, "the calling thread keeps its mask");
        assert!(before.without(&found).is_empty(), "{before} was allowed, {found} was found");
    }

    #[test]
    fn a_cpu_that_cannot_be_named_is_an_error() {
        assert!(bind(&CpuSet::from_iter([5000])).is_err());
    }
}
