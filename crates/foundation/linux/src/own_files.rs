//! Threads that have a table of open files of their own.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::thread;

/// Standard input, output and error.
const STANDARD: u32 = 3;
/// `CLOSE_RANGE_UNSHARE`: the table is this thread's own from now on.
///
/// Source: <https://man7.org/linux/man-pages/man2/close_range.2.html>
const UNSHARE: libc::c_uint = 1 << 1;

/// Starts a thread that sees of this process's files only `kept`, and standard input, output and error, by the numbers that they have.
/// What it opens or receives nobody else sees. What it has not closed is closed by its end, which waits for nothing: a socket with
/// `SO_LINGER` keeps whoever closes it waiting, but not who ends. `what` must own no file: it would close another one of that number.
///
/// Where the kernel refuses that (before Linux 5.9), the thread ends without having done anything.
///
/// # Errors
///
/// When no thread can be started.
///
/// Source: <https://man7.org/linux/man-pages/man2/close_range.2.html>, `inet_release` in
/// <https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/net/ipv4/af_inet.c>
pub fn start<const N: usize>(
    name: &str,
    kept: Arc<[OwnedFd; N]>,
    what: impl FnOnce(&[OwnedFd; N]) + Send + 'static,
) -> io::Result<()> {
    let own = move || {
        if leave_only(kept.as_slice()).is_ok() {
            what(&kept);
        }
    };
    thread::Builder::new().name(name.to_owned()).spawn(own).map(drop)
}

/// Closes the copies of all other files in a table of this thread's own.
fn leave_only(kept: &[OwnedFd]) -> io::Result<()> {
    let mut numbers: Vec<u32> = kept
        .iter()
        .filter_map(|one| u32::try_from(one.as_raw_fd()).ok())
        .filter(|one| *one >= STANDARD)
        .collect();
    numbers.sort_unstable();
    let mut from = STANDARD;
    // The last of all numbers is never one of a file: with it the table becomes its own, whatever is kept.
    close_range(u32::MAX, u32::MAX)?;
    for number in numbers {
        if from < number {
            close_range(from, number - 1)?;
        }
        from = number + 1;
    }
    close_range(from, u32::MAX)
}

/// `close_range(2)`.
fn close_range(first: u32, last: u32) -> io::Result<()> {
    // SAFETY: the table is this thread's own from the first call on: no other thread's files are closed, and this one owns none of those
    // in the range.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, last, UNSHARE) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{IoSlice, IoSliceMut, Read as _};
    use std::mem::MaybeUninit;
    use std::os::fd::{AsFd as _, RawFd};
    use std::os::unix::net::UnixStream;
    use std::sync::mpsc;
    use std::time::Duration;

    use howlate_testing::lingering_connection;
    use rustix::net::{
        RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
        SendFlags, recvmsg, sendmsg,
    };

    use super::*;

    fn numbers() -> Vec<RawFd> {
        let all = std::fs::read_dir("/proc/thread-self/fd").unwrap();
        let parsed = |entry: io::Result<std::fs::DirEntry>| entry.unwrap().file_name().to_str()?.parse().ok();
        // Listing them takes one as well.
        all.filter_map(parsed).filter(|number| *number >= 3).collect()
    }

    #[test]
    fn only_what_is_kept_is_seen_and_nothing_of_others_is_closed() {
        let others = [File::open("/dev/null").unwrap(), File::open("/dev/null").unwrap()];
        let kept = Arc::new([OwnedFd::from(File::open("/dev/zero").unwrap())]);
        let last = File::open("/dev/null").unwrap();
        let number = kept[0].as_raw_fd();
        let (tell, told) = mpsc::channel();
        start("own-files", Arc::clone(&kept), move |_| {
            let seen = numbers();
            tell.send(seen).unwrap();
        })
        .unwrap();
        let seen = told.recv().unwrap();
        assert!(seen.contains(&number) && seen.len() <= 2, "{seen:?}");
        assert!(others.iter().chain([&last]).all(|file| file.metadata().is_ok()));
    }

    #[test]
    fn its_end_does_not_wait_for_a_socket_that_lingers() {
        let (_listener, stream) = lingering_connection().unwrap();
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (mut ended, ends) = UnixStream::pair().unwrap();
        let files = [stream.as_fd(), ends.as_fd()];
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut with = SendAncillaryBuffer::new(&mut room);
        assert!(with.push(SendAncillaryMessage::ScmRights(&files)));
        sendmsg(&ours, &[IoSlice::new(b"x")], &mut with, SendFlags::empty()).unwrap();
        // From now on they are open only on their way: whoever receives them is the last that has them.
        drop((stream, ends));
        start("lingers", Arc::new([OwnedFd::from(theirs)]), |[theirs]| {
            let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
            let mut with = RecvAncillaryBuffer::new(&mut room);
            let mut byte = [0];
            recvmsg(theirs, &mut [IoSliceMut::new(&mut byte)], &mut with, RecvFlags::empty()).unwrap();
            for received in with.drain() {
                let RecvAncillaryMessage::ScmRights(files) = received else { continue };
                files.for_each(std::mem::forget);
            }
        })
        .unwrap();
        ended.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        assert_eq!(ended.read(&mut [0]).unwrap(), 0, "the one that was closed after it");
    }
}
