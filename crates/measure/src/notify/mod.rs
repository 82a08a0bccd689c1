//! Measuring how long one process needs to wake another.
//!
//! The sender is a thread of this process. The receiver is this program started again, or a
//! thread. Both write their clock readings to memory of their own; the observer pairs them by
//! number, so that a message that is lost, doubled or out of order never becomes a latency.

mod awake;
mod channel;
mod channels;
mod control;
mod each;
mod helper;
mod janitor;
mod lane;
mod observer;
mod pairing;
mod probe;
mod receiver;
mod sender;
mod start;
#[cfg(test)]
mod tests;

pub use probe::probe;
pub use start::Notifications;

use std::io;

use helper::{JANITOR, RECEIVER};

/// Does the work of a helper process when the program was started as one; call it first in
/// `main`. `None` when it was started by a person.
pub fn serve_as_helper() -> Option<io::Result<()>> {
    let mut arguments = std::env::args().skip(1);
    match arguments.next()?.as_str() {
        RECEIVER => Some(receiver::serve_process()),
        JANITOR => Some(janitor::serve()),
        _ => None,
    }
}
