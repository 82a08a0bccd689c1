//! System calls in which event loops wait, and names of system calls in which programs sleep, by number on this architecture.

use howlate_model::LoopWait;

/// A system call in which event loops wait for events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitCall {
    /// System call number on this architecture.
    pub number: u32,
    pub wait: LoopWait,
    /// A loop that waits in a call of a higher rank makes calls of lower ranks within its iterations.
    pub rank: u32,
    /// Offset in bytes of the argument that decides whether the call waits for events, in `struct pt_regs` of
    /// `<asm/ptrace.h>`, whose layout is stable.
    pub argument: u32,
    /// It waits if the argument has any of these bits; 0: always.
    pub mask: u64,
}

/// Offsets of the first four arguments.
#[cfg(target_arch = "x86_64")]
const ARGUMENTS: [u32; 4] = [112, 104, 96, 56];
#[cfg(not(target_arch = "x86_64"))]
const ARGUMENTS: [u32; 4] = [0, 8, 16, 24];

/// `IORING_ENTER_GETEVENTS` of `<linux/io_uring.h>`: without it, the call only submits work.
const GET_EVENTS: u64 = 1;

/// All calls in which event loops wait. Without descriptors, `poll(2)` and `select(2)` only sleep.
///
/// Source: <https://man7.org/linux/man-pages/man2/syscalls.2.html>
pub fn wait_calls() -> Vec<WaitCall> {
    use LoopWait::{Epoll, IoUring, Poll, Select};
    let call = |number: i64, wait, rank, argument: usize, mask| {
        let argument = ARGUMENTS[argument];
        u32::try_from(number).ok().map(|number| WaitCall { number, wait, rank, argument, mask })
    };
    let all = [
        call(libc::SYS_epoll_pwait, Epoll, 2, 0, 0),
        call(libc::SYS_epoll_pwait2, Epoll, 2, 0, 0),
        call(libc::SYS_io_uring_enter, IoUring, 2, 3, GET_EVENTS),
        call(libc::SYS_ppoll, Poll, 1, 1, u64::MAX),
        call(libc::SYS_pselect6, Select, 1, 0, u64::MAX),
    ];
    #[cfg(target_arch = "x86_64")]
    let older = [
        call(libc::SYS_epoll_wait, Epoll, 2, 0, 0),
        call(libc::SYS_poll, Poll, 1, 1, u64::MAX),
        call(libc::SYS_select, Select, 1, 0, u64::MAX),
    ];
    #[cfg(not(target_arch = "x86_64"))]
    let older = [];
    all.into_iter().chain(older).flatten().collect()
}

/// Name of a system call in which programs sleep.
///
/// Source: <https://man7.org/linux/man-pages/man2/syscalls.2.html>
pub fn call_name(number: u32) -> Option<&'static str> {
    let row = CALLS.iter().find(|(row, _)| i64::from(number) == *row);
    #[cfg(target_arch = "x86_64")]
    let row = row.or_else(|| OLDER_CALLS.iter().find(|(row, _)| i64::from(number) == *row));
    row.map(|(_, name)| *name)
}

/// Pairs of number and name.
macro_rules! numbered {
    ($($name:ident: $number:ident),* $(,)?) => { &[$((libc::$number, stringify!($name))),*] };
}

#[rustfmt::skip]
const CALLS: &[(i64, &str)] = numbered!(
    clock_nanosleep: SYS_clock_nanosleep, nanosleep: SYS_nanosleep, futex: SYS_futex, read: SYS_read, write: SYS_write,
    pread64: SYS_pread64, pwrite64: SYS_pwrite64, readv: SYS_readv, writev: SYS_writev, fsync: SYS_fsync,
    fdatasync: SYS_fdatasync, openat: SYS_openat, close: SYS_close, connect: SYS_connect, accept: SYS_accept,
    accept4: SYS_accept4, recvfrom: SYS_recvfrom, recvmsg: SYS_recvmsg, sendto: SYS_sendto, sendmsg: SYS_sendmsg,
    wait4: SYS_wait4, waitid: SYS_waitid, flock: SYS_flock, fcntl: SYS_fcntl, ioctl: SYS_ioctl, mmap: SYS_mmap,
    munmap: SYS_munmap, madvise: SYS_madvise, unlinkat: SYS_unlinkat, getdents64: SYS_getdents64, clone: SYS_clone,
    execve: SYS_execve, ppoll: SYS_ppoll, pselect6: SYS_pselect6, sendfile: SYS_sendfile, splice: SYS_splice,
    membarrier: SYS_membarrier, ftruncate: SYS_ftruncate, fallocate: SYS_fallocate, mprotect: SYS_mprotect,
    io_uring_enter: SYS_io_uring_enter, epoll_pwait: SYS_epoll_pwait, sched_yield: SYS_sched_yield,
    rt_sigtimedwait: SYS_rt_sigtimedwait, rt_sigsuspend: SYS_rt_sigsuspend, semop: SYS_semop, semtimedop: SYS_semtimedop,
    msgrcv: SYS_msgrcv, msgsnd: SYS_msgsnd, mq_timedreceive: SYS_mq_timedreceive, mq_timedsend: SYS_mq_timedsend,
    recvmmsg: SYS_recvmmsg, sendmmsg: SYS_sendmmsg, preadv: SYS_preadv, pwritev: SYS_pwritev, sync: SYS_sync,
    syncfs: SYS_syncfs, sync_file_range: SYS_sync_file_range, copy_file_range: SYS_copy_file_range,
    epoll_pwait2: SYS_epoll_pwait2, futex_waitv: SYS_futex_waitv, io_getevents: SYS_io_getevents, mlock: SYS_mlock,
    mremap: SYS_mremap, statx: SYS_statx, renameat2: SYS_renameat2, linkat: SYS_linkat, mkdirat: SYS_mkdirat,
);

/// Calls that newer architectures lack.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const OLDER_CALLS: &[(i64, &str)] = numbered!(
    open: SYS_open, poll: SYS_poll, select: SYS_select, stat: SYS_stat, unlink: SYS_unlink, rename: SYS_rename,
    vfork: SYS_vfork, pause: SYS_pause, epoll_wait: SYS_epoll_wait,
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_has_a_number_of_its_own_and_a_name() {
        let calls = wait_calls();
        let mut numbers: Vec<u32> = calls.iter().map(|call| call.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), calls.len());
        let epoll = calls.iter().filter(|call| call.wait == LoopWait::Epoll);
        assert!(epoll.clone().count() >= 2 && epoll.clone().all(|call| call.mask == 0 && call.rank == 2));
        let sleep = u32::try_from(libc::SYS_clock_nanosleep).unwrap();
        assert_eq!((call_name(sleep), call_name(u32::MAX)), (Some("clock_nanosleep"), None));
    }
}
