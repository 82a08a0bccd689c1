//! What `fuzz/` feeds: messages of programs, as anybody may send them.

use howlate_linux::clock;

use crate::requests::checked_message;

/// What is said is short and legible, whatever was sent.
pub fn message(bytes: &[u8]) {
    checked_message(bytes, clock::now());
}
