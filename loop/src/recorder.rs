//! Connection to a running `howlate record`: sharing the memory of loops, and requests to keep what just happened.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::OnceLock;

use crate::layout::{KIND, REASON};
use crate::page::{self, now};
use crate::socket::{connect, send, thread_name};

/// Environment variable: the socket path of the recorder, if it is not the default one.
const VARIABLE: &str = "HOWLATE_RECORDER";
const DEFAULT_PATH: &str = "/run/howlate/record";

/// Memory that this process shares with the recorder.
struct RecorderMemory {
    memory: OwnedFd,
    /// Stays open: when it closes, the recorder knows that the program has ended.
    _recorder: OwnedFd,
}

static SHARED: OnceLock<RecorderMemory> = OnceLock::new();

fn connect_to_recorder() -> Option<OwnedFd> {
    let place = page::variable(VARIABLE);
    connect(place.as_ref().map_or(DEFAULT_PATH.as_bytes(), |place| place.as_bytes()))
}

/// The memory for this process's loops, shared with the recorder by the first call. `None` if no recorder runs.
pub(crate) fn memory() -> Option<RawFd> {
    if SHARED.get().is_none()
        && let Some(shared) = share()
    {
        // If another thread was faster, this memory and its connection are dropped.
        drop(SHARED.set(shared));
    }
    SHARED.get().map(|shared| shared.memory.as_raw_fd())
}

fn share() -> Option<RecorderMemory> {
    let recorder = connect_to_recorder()?;
    let memory = page::new_memory()?;
    let mut kind = message_kind(b"loops1");
    send(&recorder, &mut kind, Some(memory.as_raw_fd()))
        .then_some(RecorderMemory { memory, _recorder: recorder })
}

/// Asks a running `howlate record` to keep what all CPUs have just done; `reason` is truncated to 127 bytes. Returns whether the
/// request was sent. Does not wait, costs a few system calls, and the recorder limits requests per minute.
pub fn snap(reason: &str) -> bool {
    let Some(recorder) = connect_to_recorder() else { return false };
    let mut message = Vec::with_capacity(KIND + 8 + REASON);
    message.extend(message_kind(b"snap1"));
    message.extend(now(false).to_ne_bytes());
    message.extend(thread_name());
    let mut text = [0; REASON];
    text.iter_mut().take(REASON - 1).zip(reason.bytes()).for_each(|(target, byte)| *target = byte);
    message.extend(text);
    send(&recorder, &mut message, None)
}

/// The zero-padded name of a message, with which it begins.
fn message_kind(name: &[u8]) -> [u8; KIND] {
    let mut kind = [0; KIND];
    kind.iter_mut().zip(name).for_each(|(target, byte)| *target = *byte);
    kind
}
