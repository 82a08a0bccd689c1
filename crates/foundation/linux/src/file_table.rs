//! Threads with a file descriptor table of their own.

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

/// Starts a thread whose descriptor table holds only `files` and standard input, output and error, with their numbers unchanged.
/// Descriptors that it opens or receives are invisible to other threads. Those still open are closed when it ends, which does not block: a
/// socket with `SO_LINGER` delays `close(2)`, but not the end of a thread. `work` must own no descriptor from outside: dropping it would
/// close an unrelated one with that number.
///
/// Where the kernel refuses an own table (before Linux 5.9), the thread ends without calling `work`.
///
/// # Errors
///
/// When no thread can be started.
///
/// Source: <https://man7.org/linux/man-pages/man2/close_range.2.html>, `inet_release` in
/// <https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/net/ipv4/af_inet.c>
pub fn spawn_with_own_table<const N: usize>(
    name: &str,
    files: Arc<[OwnedFd; N]>,
    work: impl FnOnce(&[OwnedFd; N]) + Send + 'static,
) -> io::Result<()> {
    let body = move || {
        if close_all_but(files.as_slice()).is_ok() {
            work(&files);
        }
    };
    thread::Builder::new().name(name.to_owned()).spawn(body).map(drop)
}

/// Unshares the table and closes all other descriptors in it.
fn close_all_but(files: &[OwnedFd]) -> io::Result<()> {
    let mut numbers: Vec<u32> = files
        .iter()
        .filter_map(|file| u32::try_from(file.as_raw_fd()).ok())
        .filter(|number| *number >= STANDARD)
        .collect();
    numbers.sort_unstable();
    let mut from = STANDARD;
    // No file has the last number: this call only unshares the table, even when nothing else is to be closed.
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
        // Listing them opens one as well.
        all.filter_map(parsed).filter(|number| *number >= 3).collect()
    }

    #[test]
    fn only_the_given_files_are_open_and_other_threads_keep_theirs() {
        let inherited = [File::open("/dev/null").unwrap(), File::open("/dev/null").unwrap()];
        let files = Arc::new([OwnedFd::from(File::open("/dev/zero").unwrap())]);
        let last = File::open("/dev/null").unwrap();
        let number = files[0].as_raw_fd();
        let (sender, receiver) = mpsc::channel();
        spawn_with_own_table("own-files", Arc::clone(&files), move |_| {
            let seen = numbers();
            sender.send(seen).unwrap();
        })
        .unwrap();
        let seen = receiver.recv().unwrap();
        assert!(seen.contains(&number) && seen.len() <= 2, "{seen:?}");
        assert!(inherited.iter().chain([&last]).all(|file| file.metadata().is_ok()));
    }

    #[test]
    fn its_end_does_not_wait_for_a_socket_that_lingers() {
        let (_listener, stream) = lingering_connection().unwrap();
        let (near, far) = UnixStream::pair().unwrap();
        let (mut ended, ends) = UnixStream::pair().unwrap();
        let files = [stream.as_fd(), ends.as_fd()];
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut with = SendAncillaryBuffer::new(&mut room);
        assert!(with.push(SendAncillaryMessage::ScmRights(&files)));
        sendmsg(&near, &[IoSlice::new(b"x")], &mut with, SendFlags::empty()).unwrap();
        // From now on they are open only in flight: the receiver has the last references.
        drop((stream, ends));
        spawn_with_own_table("lingers", Arc::new([OwnedFd::from(far)]), |[far]| {
            let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
            let mut with = RecvAncillaryBuffer::new(&mut room);
            let mut byte = [0];
            recvmsg(far, &mut [IoSliceMut::new(&mut byte)], &mut with, RecvFlags::empty()).unwrap();
            for received in with.drain() {
                let RecvAncillaryMessage::ScmRights(files) = received else { continue };
                files.for_each(std::mem::forget);
            }
        })
        .unwrap();
        ended.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        assert_eq!(ended.read(&mut [0]).unwrap(), 0, "the socket closed after the lingering one");
    }
}
