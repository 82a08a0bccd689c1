//! Control messages between processes, which are not measured: JSON, with descriptors.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, Stdio};

use howlate_linux::clock::timespec_for;
use howlate_linux::helper::Helper;
use howlate_model::Span;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::{Serialize, de::DeserializeOwned};

/// Maximum length of a message in bytes.
const MAX_MESSAGE: usize = 64 * 1024;
/// Maximum number of descriptors in a message.
const MAX_DESCRIPTORS: usize = 8;

/// A socket pair that preserves message boundaries.
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
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    sendmsg(control, &[IoSlice::new(&text)], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives a message, and the descriptors that came with it.
pub(crate) fn receive<M: DeserializeOwned>(control: &OwnedFd) -> io::Result<(M, Vec<OwnedFd>)> {
    let mut text = vec![0; MAX_MESSAGE];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received =
        recvmsg(control, &mut [IoSliceMut::new(&mut text)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    if received.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let rights = |message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => descriptors.collect(),
        _ => Vec::new(),
    };
    let descriptors = ancillary.drain().flat_map(rights).collect();
    let text = std::str::from_utf8(&text[..received.bytes]).map_err(io::Error::other)?;
    Ok((serde_json::from_str(text)?, descriptors))
}

/// Whether a message, or the end of the other side, arrives within `timeout`.
pub(crate) fn arrives_within(control: impl AsFd, timeout: Span) -> io::Result<bool> {
    let mut polled = [PollFd::new(&control, PollFlags::IN)];
    match poll(&mut polled, Some(&timespec_for(timeout))) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Starts a helper with one end of a control socket as its standard input.
pub(super) fn start_helper(helper: Helper, control: OwnedFd) -> io::Result<Child> {
    let null = || Stdio::null();
    helper.command([]).stdin(Stdio::from(control)).stdout(null()).stderr(null()).spawn()
}
