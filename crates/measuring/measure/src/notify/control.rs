//! Messages between processes that are not measured: JSON, with descriptors beside it.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use howlate_linux::clock::timespec_for;
use howlate_model::Span;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::{Serialize, de::DeserializeOwned};

/// A message is at most this long.
const LONGEST: usize = 64 * 1024;
/// At most this many descriptors come with one.
const MOST_DESCRIPTORS: usize = 8;

/// Two ends that keep the bounds of messages.
pub(crate) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Sends a message, and descriptors with it.
pub(crate) fn send(
    control: &OwnedFd,
    message: &impl Serialize,
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let text = serde_json::to_vec(message)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !beside.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    sendmsg(control, &[IoSlice::new(&text)], &mut beside, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives a message, and the descriptors that came with it.
pub(crate) fn receive<M: DeserializeOwned>(control: &OwnedFd) -> io::Result<(M, Vec<OwnedFd>)> {
    let mut text = vec![0; LONGEST];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let got = recvmsg(control, &mut [IoSliceMut::new(&mut text)], &mut beside, RecvFlags::CMSG_CLOEXEC)?;
    if got.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let rights = |message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => descriptors.collect(),
        _ => Vec::new(),
    };
    let descriptors = beside.drain().flat_map(rights).collect();
    let text = std::str::from_utf8(&text[..got.bytes]).map_err(io::Error::other)?;
    Ok((serde_json::from_str(text)?, descriptors))
}

/// Whether a message, or the end of the other side, comes within `patience`.
pub(crate) fn comes_within(control: impl AsFd, patience: Span) -> io::Result<bool> {
    let mut waiting = [PollFd::new(&control, PollFlags::IN)];
    match poll(&mut waiting, Some(&timespec_for(patience))) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
