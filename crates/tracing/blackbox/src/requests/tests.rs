//! Clients that send requests, stay silent, or are hostile.

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;

use howlate_linux::clock;
use howlate_testing::lingering_connection;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::pwrite;
use rustix::net::{
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, connect, send, sendmsg,
};

use super::*;

const NONE: &[BorrowedFd<'_>] = &[];

fn snap(thread: &[u8], reason: &[u8]) -> Vec<u8> {
    let mut thread = thread.to_vec();
    thread.resize(16, 0);
    [&b"snap1\0\0\0"[..], &0_u64.to_ne_bytes(), &thread, reason].concat()
}

fn client(path: &Path) -> OwnedFd {
    let client = socket_file::socket().unwrap();
    connect(&client, &SocketAddrUnix::new(path).unwrap()).unwrap();
    client
}

fn hand_over(to: &OwnedFd, bytes: &[u8], files: &[BorrowedFd<'_>]) {
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
    let mut with = SendAncillaryBuffer::new(&mut room);
    if !files.is_empty() {
        assert!(with.push(SendAncillaryMessage::ScmRights(files)));
    }
    sendmsg(to, &[IoSlice::new(bytes)], &mut with, SendFlags::NOSIGNAL).unwrap();
}

/// Memory as `loop/howlate.h` makes it.
pub(crate) fn memory() -> OwnedFd {
    let file = memfd_create("loops", MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&file, 65_536 + 80 * 131_072).unwrap();
    pwrite(&file, b"howlate1", 512).unwrap();
    fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL).unwrap();
    file
}

/// Waits for `count` requests.
fn take(socket: &mut RequestSocket, count: usize) -> Vec<Request> {
    let mut requests = Vec::new();
    for _ in 0..6_000 {
        socket.receive(clock::now());
        requests.extend(socket.take(clock::now()));
        if requests.len() >= count {
            return requests;
        }
        drop(clock::sleep_for(Span::from_millis(10)));
    }
    panic!("only {requests:?} came")
}

fn open() -> (tempfile::TempDir, std::path::PathBuf, RequestSocket) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record");
    let socket = RequestSocket::open(&path).unwrap();
    (folder, path, socket)
}

/// Reasons of timeline requests, and the number of memory offers.
fn reasons_and_loops(requests: &[Request]) -> (Vec<String>, usize) {
    let reasons = requests.iter().filter_map(|request| match request {
        Request::Snap(snap) => snap.reason.clone(),
        Request::Loops(_) => None,
    });
    let loops = requests.iter().filter(|request| matches!(request, Request::Loops(_))).count();
    (reasons.collect(), loops)
}

#[test]
fn whoever_connects_is_heard_and_the_socket_is_removed() {
    let (_folder, path, mut socket) = open();
    // A client that ended before it is read, a silent one, one without a file, one with a wrong
    // file, and a valid one.
    let ended = client(&path);
    send(&ended, &snap(b"player", b"frame dropped"), SendFlags::NOSIGNAL).unwrap();
    drop(ended);
    let [_silent, without, other, with] = [(); 4].map(|()| client(&path));
    hand_over(&without, b"loops1\0\0", NONE);
    hand_over(&other, b"loops1\0\0", &[other.as_fd()]);
    hand_over(&with, b"loops1\0\0", &[memory().as_fd()]);
    let requests = take(&mut socket, 2);
    let [Request::Snap(snap), Request::Loops(loops)] = &requests[..] else { panic!("{requests:?}") };
    assert_eq!((snap.thread.as_str(), snap.reason.as_deref()), ("player", Some("frame dropped")));
    assert_eq!((snap.peer.pid, loops.peer.pid), (std::process::id(), std::process::id()));
    drop(socket);
    assert!(!path.exists());
}

#[test]
fn who_says_something_later_is_heard_beside_others() {
    let (_folder, path, mut socket) = open();
    let late = client(&path);
    let early = client(&path);
    send(&early, &snap(b"a", b"first"), SendFlags::NOSIGNAL).unwrap();
    assert_eq!(reasons_and_loops(&take(&mut socket, 1)).0, ["first"]);
    let silent: Vec<OwnedFd> = (0..20).map(|_| client(&path)).collect();
    send(&late, &snap(b"a", b"second"), SendFlags::NOSIGNAL).unwrap();
    assert_eq!(reasons_and_loops(&take(&mut socket, 1)).0, ["second"]);
    drop(silent);
}

/// Each is the last holder of the file when it is refused. The next receiver starts only after
/// the previous one has ended.
#[test]
fn nobody_waits_for_what_is_handed_over_to_be_closed() {
    let (_folder, path, mut socket) = open();
    let ways: [fn(&OwnedFd, &[BorrowedFd<'_>]); 6] = [
        |to, file| hand_over(to, b"loops1\0\0", file),
        |to, file| hand_over(to, b"loops1\0\0", &[file, file, file].concat()),
        |to, file| hand_over(to, &snap(b"a", b"with a file"), file),
        |to, file| hand_over(to, b"nonsense", file),
        // Memory first, and then what closing the connection would close.
        |to, file| {
            hand_over(to, b"loops1\0\0", &[memory().as_fd()]);
            hand_over(to, b"", NONE);
            hand_over(to, b"more", file);
        },
        |to, file| {
            hand_over(to, b"loops1\0\0", &[memory().as_fd()]);
            hand_over(to, b"", file);
        },
    ];
    for (number, way) in ways.into_iter().enumerate() {
        let (_listener, stream) = lingering_connection().unwrap();
        let hostile = client(&path);
        way(&hostile, &[stream.as_fd()]);
        drop((hostile, stream));
        let reason = format!("after {number}");
        let honest = client(&path);
        send(&honest, &snap(b"a", reason.as_bytes()), SendFlags::NOSIGNAL).unwrap();
        let mut reasons = Vec::new();
        while !reasons.contains(&reason) {
            let (some, loops) = reasons_and_loops(&take(&mut socket, 1));
            assert_eq!(loops, 0, "{number}");
            reasons.extend(some);
        }
    }
}

#[test]
fn own_programs_may_have_more_connections_than_those_of_others() {
    let (_folder, path, mut socket) = open();
    let previous = (0..40).map(|_| client(&path)).collect::<Vec<_>>();
    let last = client(&path);
    send(&last, &snap(b"a", b"one's own"), SendFlags::NOSIGNAL).unwrap();
    // All are of this user, who may have more than others.
    assert_eq!(reasons_and_loops(&take(&mut socket, 1)).0, ["one's own"]);
    drop(previous);
}
