//! `perf_event_open(2)`: records of a thread's context switches.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::param::page_size;

/// `PERF_TYPE_SOFTWARE` and `PERF_COUNT_SW_DUMMY` of `<linux/perf_event.h>`.
const SOFTWARE: u32 = 1;
const DUMMY: u64 = 9;
/// `PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU`.
const TID_TIME_CPU: u64 = 1 << 1 | 1 << 2 | 1 << 7;
/// Bits of the attribute's flags, in the order of the header.
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const SAMPLE_ID_ALL: u64 = 1 << 18;
const USE_CLOCK_ID: u64 = 1 << 25;
const CONTEXT_SWITCH: u64 = 1 << 26;
/// `PERF_FLAG_FD_CLOEXEC`.
const CLOSE_ON_EXEC: u64 = 1 << 3;
/// `PERF_EVENT_IOC_DISABLE`: `_IO('$', 1)`.
const DISABLE: u32 = 0x2401;
/// Where `struct perf_event_mmap_page` has `data_head` and `data_tail`, in bytes.
const HEAD: usize = 1024;
const TAIL: usize = 1032;
/// A record's header: type, flags, and the whole record's size in its last two bytes.
const HEADER: usize = 8;

/// `struct perf_event_attr` as of Linux 4.3 (`PERF_ATTR_SIZE_VER5`), as far as it is used.
#[repr(C)]
#[derive(Default)]
struct PerfEventAttr {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    config1: u64,
    config2: u64,
    branches: u64,
    user_registers: u64,
    user_stack: u32,
    clock: i32,
    registers: u64,
    rest: [u32; 2],
}

/// Context switches of one thread, in a ring that the kernel writes.
pub struct SwitchRecords {
    event: OwnedFd,
    /// One page of control words, then the ring.
    base: NonNull<u8>,
    /// Length of the ring in bytes, a power of two.
    len: usize,
    tail: u64,
}

// SAFETY: the mapping belongs to the process, not to a thread, and stays until drop.
unsafe impl Send for SwitchRecords {}

impl SwitchRecords {
    /// `perf_event_open(attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC)` and `mmap(2)`: records `PERF_RECORD_SWITCH` of a thread
    /// from now on, stamped on `CLOCK_MONOTONIC`, into a ring of `len` bytes, a power of two of at least a page.
    ///
    /// # Errors
    ///
    /// `EACCES` or `EPERM` where `kernel.perf_event_paranoid` or a seccomp filter forbids it, or where more memory would
    /// be locked than `kernel.perf_event_mlock_kb` allows; `ENOENT` or `ENOSYS` without `CONFIG_PERF_EVENTS`; `ESRCH`.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/perf_event_open.2.html>
    pub fn of_thread(tid: u32, len: usize) -> io::Result<Self> {
        let event = open(tid)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let whole = page_size() + len;
        // SAFETY: a new mapping at an address of the kernel's choice; it overlaps nothing.
        let base = unsafe { mmap(ptr::null_mut(), whole, access, MapFlags::SHARED, &event, 0)? };
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { event, base, len, tail: 0 })
    }

    /// `ioctl(PERF_EVENT_IOC_DISABLE)`: stops recording; existing records can still be read.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/perf_event_open.2.html>
    pub fn stop(&self) -> io::Result<()> {
        // SAFETY: the call takes no argument and touches no memory of this process.
        let result = unsafe { libc::ioctl(self.event.as_raw_fd(), DISABLE.into(), 0) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Calls `record` with each record since the last call, header included.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/perf_event_open.2.html>
    pub fn read(&mut self, mut record: impl FnMut(&[u8])) {
        let head = self.word(HEAD).load(Ordering::Acquire);
        let mut bytes = Vec::new();
        while self.tail + HEADER as u64 <= head {
            let mut header = [0; HEADER];
            self.copy(self.tail, &mut header);
            let size = u16::from_ne_bytes([header[6], header[7]]);
            // The kernel writes no such record; the records after it could not be found.
            if usize::from(size) < HEADER {
                self.tail = head;
                break;
            }
            bytes.resize(usize::from(size), 0);
            self.copy(self.tail, &mut bytes);
            self.tail += u64::from(size);
            record(&bytes);
        }
        self.word(TAIL).store(self.tail, Ordering::Release);
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: both words lie within the first page of the mapping.
        let word = unsafe { self.base.add(offset) };
        // SAFETY: aligned to 8 in a page; the kernel and this process change it as a whole; the mapping lives as long as
        // self.
        unsafe { word.cast::<AtomicU64>().as_ref() }
    }

    /// Copies from stream position `position`, of which the ring holds the latest bytes.
    fn copy(&self, position: u64, to: &mut [u8]) {
        #[allow(clippy::cast_possible_truncation, reason = "what is left is below the ring's length")]
        let at = (position & (self.len as u64 - 1)) as usize;
        let first = to.len().min(self.len - at);
        let (begin, wrapped) = to.split_at_mut(first);
        self.copy_straight(at, begin);
        self.copy_straight(0, wrapped);
    }

    fn copy_straight(&self, at: usize, to: &mut [u8]) {
        debug_assert!(at + to.len() <= self.len);
        // SAFETY: within the mapping: `at` and the length were bounded by the ring's in `copy`.
        let from = unsafe { self.base.add(page_size() + at) };
        // SAFETY: the source is valid for that length, and the kernel does not write between tail and head; `to` is
        // memory of this process alone.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), to.as_mut_ptr(), to.len()) };
    }
}

impl Drop for SwitchRecords {
    fn drop(&mut self) {
        // SAFETY: mapped by `of_thread` with this length; nothing borrowed outlives self.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), page_size() + self.len) };
        debug_assert!(unmapped.is_ok());
    }
}

fn open(tid: u32) -> io::Result<OwnedFd> {
    let flags = EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR | SAMPLE_ID_ALL | USE_CLOCK_ID | CONTEXT_SWITCH;
    let attributes = PerfEventAttr {
        kind: SOFTWARE,
        size: size_of::<PerfEventAttr>().try_into().unwrap_or(u32::MAX),
        config: DUMMY,
        sample_type: TID_TIME_CPU,
        // Bit-fields of C start at the other end there.
        flags: if cfg!(target_endian = "big") { flags.reverse_bits() } else { flags },
        clock: libc::CLOCK_MONOTONIC,
        ..PerfEventAttr::default()
    };
    // SAFETY: `attributes` is a perf_event_attr of the size that it states, and outlives the call.
    let event = unsafe {
        libc::syscall(libc::SYS_perf_event_open, &raw const attributes, tid, -1_i32, -1_i32, CLOSE_ON_EXEC)
    };
    let event = i32::try_from(event).ok().filter(|event| *event >= 0);
    let event = event.ok_or_else(io::Error::last_os_error)?;
    // SAFETY: the call returned it just now, so it has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(event) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread;
    use std::time::Duration;

    /// `PERF_RECORD_LOST` and `PERF_RECORD_SWITCH`.
    const LOST: u32 = 2;
    const SWITCH: u32 = 14;

    fn sleep_and_read(records: &mut SwitchRecords, sleeps: u32) -> Vec<u32> {
        let duration =
            rustix::time::Timespec { tv_sec: 0, tv_nsec: Duration::from_micros(20).subsec_nanos().into() };
        (0..sleeps).for_each(|_| drop(rustix::thread::nanosleep(&duration)));
        let mut kinds = Vec::new();
        records.read(|record| {
            let kind = u32::from_ne_bytes([record[0], record[1], record[2], record[3]]);
            assert_eq!(record.len(), if kind == SWITCH { 32 } else { 48 });
            kinds.push(kind);
        });
        kinds
    }

    #[test]
    fn a_sleeping_thread_is_switched_out_and_in_and_lost_records_are_reported() {
        let Ok(mut records) = SwitchRecords::of_thread(thread::id(), page_size()) else {
            return howlate_testing::skip("perf_event_open is not permitted here");
        };
        let full = sleep_and_read(&mut records, 200);
        assert!(full.len() >= 100 && full.iter().all(|kind| *kind == SWITCH), "{full:?}");
        // The record of the loss has another length, so that from there on records wrap around the ring's end.
        let mut after = Vec::new();
        // A sleep that is over before the thread has left its CPU is no switch.
        for _ in 0..1_000 {
            if after.len() < 400 {
                after.extend(sleep_and_read(&mut records, 1));
            }
        }
        assert_eq!(after[0], LOST);
        assert!(after.len() >= 400 && after[1..].iter().all(|kind| *kind == SWITCH), "{after:?}");
        records.stop().unwrap();
        // There may have been switches since the last read.
        sleep_and_read(&mut records, 0);
        assert_eq!(sleep_and_read(&mut records, 5), [] as [u32; 0]);
    }
}
