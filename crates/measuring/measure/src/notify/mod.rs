//! Measures how long one process takes to wake another.
//!
//! The sender is a thread of this process. The receiver is this program executed again, or a
//! thread. Each writes its clock readings to separate memory; the observer matches them by
//! number, so that a lost, duplicated or reordered message never becomes a latency.

mod allowed;
mod channel;
mod channels;
mod control;
mod engine;
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
pub use engine::NotifyEngine;

use howlate_linux::helper::Helper;

/// The helper processes of this crate.
pub const HELPERS: [Helper; 2] = [receiver::RECEIVER, sysv_cleanup::JANITOR];
