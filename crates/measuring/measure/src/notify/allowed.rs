//! Checks whether this kernel, or this container, permits a mechanism.

use std::io;
use std::sync::Arc;

use howlate_linux::shared_memory::SharedMemory;
use howlate_linux::signal;
use howlate_model::{Notifier, Peers};

use super::channel::{Await, Channel, Endpoint, Notify};
use super::channels::{WithChannel, with_channel};
use super::shared::{Direction, words_for};

/// Sends one message from a thread to itself.
///
/// # Errors
///
/// Those of the mechanism, if it cannot be used here.
pub fn is_allowed(notifier: Notifier) -> io::Result<()> {
    // A thread of its own that blocks signals, as they would end a thread that does not.
    let thread = std::thread::Builder::new().spawn(move || {
        signal::block_all_but_wake_up();
        with_channel(notifier, SelfNotify)
    })?;
    thread.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
}

struct SelfNotify;

impl WithChannel for SelfNotify {
    type Output = io::Result<()>;

    fn with<C: Channel>(self) -> io::Result<()> {
        let (memory, _file) = SharedMemory::create(words_for(1))?;
        let direction = Direction { memory: Arc::new(memory), number: 0, between: Peers::Processes };
        direction.register();
        let mut endpoints = C::make(&direction)?;
        let id = endpoints.id();
        let endpoint = |descriptors| Endpoint { direction: direction.clone(), descriptors, id };
        let mut receiver = C::receiver(endpoint(std::mem::take(&mut endpoints.receiver)))?;
        let mut sender = C::sender(endpoint(std::mem::take(&mut endpoints.sender)))?;
        sender.prepare(1);
        sender.notify(1)?;
        receiver.wait()?;
        if receiver.number() == 1 { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
    }
}
