//! Measuring how long one process needs to wake another.
//!
//! The sender is a thread of this process. The receiver is this program started again, or a
//! thread. Both write their clock readings to memory of their own; the observer pairs them by
//! number, so that a message that is lost, doubled or out of order never becomes a latency.

mod allowed;
mod channel;
mod channels;
mod control;
mod dispatch;
mod engine;
mod helper;
mod job;
mod keep_awake;
pub(crate) mod message_matching;
mod observer;
mod prepared;
mod receiver;
mod receiver_handle;
mod sender;
mod sender_thread;
pub(crate) mod shared;
mod sysv_cleanup;
#[cfg(test)]
mod tests;

pub use allowed::is_allowed;
pub use engine::Notifications;

use howlate_linux::helper::Helper;

/// Every helper process that measuring needs.
pub const HELPERS: [Helper; 2] = [receiver::RECEIVER, sysv_cleanup::JANITOR];
