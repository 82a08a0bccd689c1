//! Whoever records the whole machine: `howlate record`, found by the place at which it listens.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::OnceLock;

use crate::layout::{KIND, REASON};
use crate::page::{self, now};
use crate::socket::{connect, send, thread_name};

/// Where it listens, if not there.
const VARIABLE: &str = "HOWLATE_RECORDER";
const USUAL: &str = "/run/howlate/record";

/// What this process has handed to it.
struct Handed {
    memory: OwnedFd,
    /// By its end the recorder knows that of the program.
    _recorder: OwnedFd,
}

static HANDED: OnceLock<Handed> = OnceLock::new();

fn recorder() -> Option<OwnedFd> {
    let place = page::variable(VARIABLE);
    connect(place.as_ref().map_or(USUAL.as_bytes(), |place| place.as_bytes()))
}

/// The memory for this process's loops that a recorder reads; made and handed over where that has not happened yet. `None`:
/// nobody records.
pub(crate) fn memory() -> Option<RawFd> {
    if HANDED.get().is_none()
        && let Some(handed) = hand()
    {
        // Another thread may have been faster: what this one has handed over ends with it.
        drop(HANDED.set(handed));
    }
    HANDED.get().map(|handed| handed.memory.as_raw_fd())
}

fn hand() -> Option<Handed> {
    let recorder = recorder()?;
    let memory = page::memory()?;
    let mut kind = named(b"loops1");
    send(&recorder, &mut kind, Some(memory.as_raw_fd())).then_some(Handed { memory, _recorder: recorder })
}

/// Asks a running `howlate record` to keep what all CPUs have just done, and why: of `reason`, 127 bytes count. Returns whether it
/// was asked. It waits for nothing, costs a few system calls, and a recorder obeys only so many requests a minute.
pub fn snap(reason: &str) -> bool {
    let Some(recorder) = recorder() else { return false };
    let mut asked = Vec::with_capacity(KIND + 8 + REASON);
    asked.extend(named(b"snap1"));
    asked.extend(now(false).to_ne_bytes());
    asked.extend(thread_name());
    let mut why = [0; REASON];
    why.iter_mut().take(REASON - 1).zip(reason.bytes()).for_each(|(letter, byte)| *letter = byte);
    asked.extend(why);
    send(&recorder, &mut asked, None)
}

/// What is sent, by its name.
fn named(name: &[u8]) -> [u8; KIND] {
    let mut kind = [0; KIND];
    kind.iter_mut().zip(name).for_each(|(letter, byte)| *letter = *byte);
    kind
}
