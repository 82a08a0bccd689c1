//! Programs that connect: those that ask, those that say nothing, and those that mean harm.

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

/// Takes until so much has come.
fn take(socket: &mut RequestSocket, count: usize) -> Vec<Request> {
    let mut asked = Vec::new();
    for _ in 0..6_000 {
        socket.receive(clock::now());
        asked.extend(socket.take(clock::now()));
        if asked.len() >= count {
            return asked;
        }
        drop(clock::pause(Span::from_millis(10)));
    }
    panic!("only {asked:?} came")
}

fn open() -> (tempfile::TempDir, std::path::PathBuf, RequestSocket) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record");
    let socket = RequestSocket::open(&path).unwrap();
    (folder, path, socket)
}

/// The reasons of those that ask to keep something, and how many hand memory over.
fn told(asked: &[Request]) -> (Vec<String>, usize) {
    let reasons = asked.iter().filter_map(|one| match one {
        Request::Snap(snap) => snap.reason.clone(),
        Request::Loops(_) => None,
    });
    let loops = asked.iter().filter(|one| matches!(one, Request::Loops(_))).count();
    (reasons.collect(), loops)
}

#[test]
fn whoever_connects_is_heard_and_the_socket_is_removed() {
    let (_folder, path, mut socket) = open();
    // One that is gone by the time that it is heard, one that says nothing, one that hands no file over, one that hands over another
    // one, and one that does as it should.
    let gone = client(&path);
    send(&gone, &snap(b"player", b"frame dropped"), SendFlags::NOSIGNAL).unwrap();
    drop(gone);
    let [_silent, without, other, with] = [(); 4].map(|()| client(&path));
    hand_over(&without, b"loops1\0\0", NONE);
    hand_over(&other, b"loops1\0\0", &[other.as_fd()]);
    hand_over(&with, b"loops1\0\0", &[memory().as_fd()]);
    let asked = take(&mut socket, 2);
    let [Request::Snap(snap), Request::Loops(loops)] = &asked[..] else { panic!("{asked:?}") };
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
    assert_eq!(told(&take(&mut socket, 1)).0, ["first"]);
    let silent: Vec<OwnedFd> = (0..20).map(|_| client(&path)).collect();
    send(&late, &snap(b"a", b"second"), SendFlags::NOSIGNAL).unwrap();
    assert_eq!(told(&take(&mut socket, 1)).0, ["second"]);
    drop(silent);
}

/// Each of them is the last that has it open when it is refused. The next receiver starts only when the one before has ended.
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
            let (some, loops) = told(&take(&mut socket, 1));
            assert_eq!(loops, 0, "{number}");
            reasons.extend(some);
        }
    }
}

#[test]
fn own_programs_may_have_more_connections_than_those_of_others() {
    let (_folder, path, mut socket) = open();
    let others = (0..40).map(|_| client(&path)).collect::<Vec<_>>();
    let heard = client(&path);
    send(&heard, &snap(b"a", b"one's own"), SendFlags::NOSIGNAL).unwrap();
    // All of them are this user's, who may have more than others.
    assert_eq!(told(&take(&mut socket, 1)).0, ["one's own"]);
    drop(others);
}
